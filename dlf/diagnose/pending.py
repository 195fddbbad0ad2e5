"""Why a job has not started: one sentence, from all that the cluster says about it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from dlf.diagnose.events import WarningEvents
from dlf.diagnose.image_pulls import ImagePulls
from dlf.diagnose.pod_state import describe_pod, not_started
from dlf.manifest.observed import Pod

_SHOWN_CAUSES = 3
_TERMINATING = "being deleted"


class PendingReason(msgspec.Struct, frozen=True):
    """What a job waits for.

    Attributes:
        sentence: one line.
        causes: the sentence without its numbers: it is told again when these have changed.
    """

    sentence: str
    causes: frozenset[str]


def pending_reason(
    pods: Sequence[Pod], total: int, warnings: WarningEvents, pulls: ImagePulls, admission: str
) -> PendingReason | None:
    """What is being waited for, or None when all pods have started.

    Args:
        pods: of the job, as they are.
        total: how many there should be.
        warnings: of the job's objects.
        pulls: its failing image pulls.
        admission: why Volcano does not admit the gang, or "".
    """
    waiting = [pod for pod in pods if not_started(pod)]
    missing = max(total - len(pods), 0)
    if not waiting and not missing:
        return None
    causes = Counter(_cause(pod, warnings, pulls, admission) for pod in waiting)
    parts = [
        f"{count} {cause}" + _example(cause, waiting)
        for cause, count in causes.most_common(_SHOWN_CAUSES)
    ]
    if missing:
        parts.append(f"{missing} not there" + _of_the_job(pods, warnings, admission))
    return PendingReason(
        f"waiting for {len(waiting) + missing} of {total} pods: {'; '.join(parts)}",
        frozenset([*causes, admission, *warnings.others(_names(pods)), str(bool(missing))]),
    )


def _cause(pod: Pod, warnings: WarningEvents, pulls: ImagePulls, admission: str) -> str:
    """The pod's own reason; where it has none (mounts, sandboxes), its event or the gang's."""
    if pull := pulls.message(pod.metadata.name):
        return f"pending: {pull}"
    if pod.metadata.deletion_timestamp:
        return _TERMINATING
    state = describe_pod(pod)
    event = warnings.for_object(pod.metadata.name) or admission
    return f"{state}: {event}" if event and state == "pending" else state


def _example(cause: str, waiting: Iterable[Pod]) -> str:
    """An example of the pods that stay: often, their node does not answer."""
    if cause != _TERMINATING:
        return ""
    pod = next(pod for pod in waiting if pod.metadata.deletion_timestamp)
    return f" (such as {pod.metadata.name} on node {pod.spec.node_name})"


def _of_the_job(pods: Iterable[Pod], warnings: WarningEvents, admission: str) -> str:
    reasons = [admission] if admission else warnings.others(_names(pods))[:_SHOWN_CAUSES]
    return "".join(f", {each}" for each in reasons)


def _names(pods: Iterable[Pod]) -> set[str]:
    return {pod.metadata.name for pod in pods}
