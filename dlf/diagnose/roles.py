"""Which role, index and rank a pod has in its job, by the labels that the operators write."""

import re

import msgspec

from dlf.manifest.observed import Job, Pod, ReplicaCount

_ROLE_LABELS = (
    "training.kubeflow.org/replica-type",  # training-operator
    "training.kubeflow.org/job-role",  # mpi-operator, which has no replica-type
    "volcano.sh/task-spec",
)
_INDEX_LABELS = ("training.kubeflow.org/replica-index", "volcano.sh/task-index")
_STARTERS = {"launcher"}  # start ranks elsewhere and have none themselves


class Identity(msgspec.Struct, frozen=True):
    """Who a pod is. `rank` counts through the roles in their order; None where there is none."""

    role: str = ""
    index: int | None = None
    rank: int | None = None


def replicas(job: Job) -> dict[str, int]:
    """Role to number of pods, roles in lower case and in the order of ranks.

    The API server sorts the keys of a Kubeflow job, which is the order of its ranks too; the tasks
    of a Volcano Job keep theirs.
    """
    if job.spec.tasks:
        return {task.name: task.replicas for task in job.spec.tasks}
    roles: dict[str, ReplicaCount] = (
        job.spec.pytorch_replica_specs
        or job.spec.tf_replica_specs
        or job.spec.paddle_replica_specs
        or job.spec.mx_replica_specs
        or job.spec.mpi_replica_specs
        or {}
    )
    return {
        role.lower(): 1 if entry.replicas is None else entry.replicas
        for role, entry in sorted(roles.items())
    }


def ranks(job: Job) -> int:
    """How many ranks the job has."""
    return sum(count for role, count in replicas(job).items() if role not in _STARTERS)


def identify(pod: Pod, counts: dict[str, int]) -> Identity:
    """The pod's place in a job of these replicas; empty where its labels say nothing."""
    labels = pod.metadata.labels or {}
    role = next((labels[key].lower() for key in _ROLE_LABELS if labels.get(key)), "")
    written = next((labels[key] for key in _INDEX_LABELS if labels.get(key)), "")
    if not written:  # Volcano up to 1.8 tells the index only in the name
        suffix = re.search(r"-([0-9]+)$", pod.metadata.name)
        written = suffix[1] if suffix else ""
    index = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else None
    if role in _STARTERS or role not in counts or index is None:
        return Identity(role, index)
    ranked = [name for name in counts if name not in _STARTERS]
    return Identity(role, index, sum(counts[r] for r in ranked[: ranked.index(role)]) + index)
