"""Why a job has not started: one sentence, from all that the cluster says about it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from dlf.diagnose.events import WarningEvents
from dlf.diagnose.image_pulls import ImagePulls
from dlf.diagnose.pod_state import describe_pod, not_started
from dlf.manifest.observed import Pod

_SHOWN = 3
_LEAVING = "being deleted"


class PendingReason(msgspec.Struct, frozen=True):
    """What is being waited for.

    Attributes:
        sentence: one line.
        causes: the sentence without its numbers. When these change, it is to be told again.
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
    told = [
        f"{count} {cause}" + _leaving(cause, waiting) for cause, count in causes.most_common(_SHOWN)
    ]
    if missing:
        told.append(f"{missing} not there" + _of_the_job(pods, warnings, admission))
    return PendingReason(
        f"waiting for {len(waiting) + missing} of {total} pods: {'; '.join(told)}",
        frozenset([*causes, admission, *warnings.others(_names(pods)), str(bool(missing))]),
    )


def _cause(pod: Pod, warnings: WarningEvents, pulls: ImagePulls, admission: str) -> str:
    """The pod's own reason; where it has none (mounts, sandboxes), its event or the gang's."""
    if pull := pulls.message(pod.metadata.name):
        return f"pending: {pull}"
    if pod.metadata.deletion_timestamp:
        return _LEAVING
    state = describe_pod(pod)
    said = warnings.for_object(pod.metadata.name) or admission
    return f"{state}: {said}" if said and state == "pending" else state


def _leaving(cause: str, waiting: Iterable[Pod]) -> str:
    """An example of the pods that stay: often, their node does not answer."""
    if cause != _LEAVING:
        return ""
    pod = next(pod for pod in waiting if pod.metadata.deletion_timestamp)
    return f" (such as {pod.metadata.name} on node {pod.spec.node_name})"


def _of_the_job(pods: Iterable[Pod], warnings: WarningEvents, admission: str) -> str:
    said = [admission] if admission else warnings.others(_names(pods))[:_SHOWN]
    return "".join(f", {each}" for each in said)


def _names(pods: Iterable[Pod]) -> set[str]:
    return {pod.metadata.name for pod in pods}
