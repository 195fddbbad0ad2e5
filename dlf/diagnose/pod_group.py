"""The job's PodGroup: why Volcano does not admit the gang or schedule its pods."""

from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Condition, Job, Meta, Observed

QUEUE = Kind(group="scheduling.volcano.sh", version="v1beta1", name="Queue", plural="queues")
"""Not namespaced."""


class GroupSpec(Observed):
    """scheduling.volcano.sh PodGroupSpec."""

    min_member: int = 0
    queue: str = ""


class GroupStatus(Observed):
    """scheduling.volcano.sh PodGroupStatus."""

    phase: str = ""
    conditions: list[Condition] | None = None


class PodGroup(Observed):
    """scheduling.volcano.sh PodGroup."""

    metadata: Meta
    spec: GroupSpec = GroupSpec()
    status: GroupStatus = GroupStatus()


class QueueStatus(Observed):
    """scheduling.volcano.sh QueueStatus."""

    state: str = ""


class Queue(Observed):
    """scheduling.volcano.sh Queue."""

    status: QueueStatus = QueueStatus()


def group_name(kind: Kind, job: Job) -> str:
    """The name of the job's PodGroup: `<job>-<uid>` for Volcano, `<job>` for Kubeflow."""
    name = job.metadata.name
    return f"{name}-{job.metadata.uid}" if kind == VOLCANO_JOB else name


def why_not_admitted(group: PodGroup, queue: Queue | str | None) -> str:
    """Why there are no pods yet, or why none is placed; "" when the PodGroup is not to blame.

    Args:
        group: as it is.
        queue: as it is; None when there is none of its name, "" when it cannot be read.
    """
    name = group.spec.queue or "default"
    if queue is None:
        return f"queue {name} does not exist"
    if isinstance(queue, Queue) and queue.status.state not in {"", "Open"}:
        return f"queue {name} is {queue.status.state}"
    reasons = [
        text
        for each in group.status.conditions or ()
        if each.type == "Unschedulable" and each.status == "True"
        for text in (each.reason, each.message)
    ]
    if group.status.phase in {"", "Pending"}:  # reasons may count pods that do not exist yet
        reasons.insert(0, f"queue {name} has not admitted the gang of {group.spec.min_member}")
    return ": ".join(filter(None, reasons))
