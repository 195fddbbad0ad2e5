"""Why a job has not started: one sentence, from all that the cluster says about it."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from dlf.diagnose.events import Warnings
from dlf.diagnose.image_pulls import Pulls
from dlf.diagnose.pod_state import is_late, words
from dlf.manifest.observed import Pod

_SHOWN = 3
_LEAVING = "being deleted"


class Waiting(msgspec.Struct, frozen=True):
    """What is being waited for.

    Attributes:
        sentence: one line.
        causes: what it says without its numbers; it is worth telling again when these change.
    """

    sentence: str
    causes: frozenset[str]


def why(
    pods: Sequence[Pod], total: int, warnings: Warnings, pulls: Pulls, admission: str
) -> Waiting | None:
    """What is being waited for, or None when all pods have started.

    Args:
        pods: of the job, as they are.
        total: how many there should be.
        warnings: of the job's objects.
        pulls: its failing image pulls.
        admission: why the gang is not let in, or "".
    """
    late = [pod for pod in pods if is_late(pod)]
    missing = max(total - len(pods), 0)
    if not late and not missing:
        return None
    causes = Counter(_cause(pod, warnings, pulls, admission) for pod in late)
    told = [
        f"{count} {cause}" + _leaving(cause, late) for cause, count in causes.most_common(_SHOWN)
    ]
    if missing:
        told.append(f"{missing} not there" + _of_the_job(pods, warnings, admission))
    return Waiting(
        f"waiting for {len(late) + missing} of {total} pods: {'; '.join(told)}",
        frozenset([*causes, admission, *warnings.beside(_names(pods)), str(bool(missing))]),
    )


def _cause(pod: Pod, warnings: Warnings, pulls: Pulls, admission: str) -> str:
    """The pod's own words; where it has none (mounts, sandboxes), the event or the gang's."""
    if pull := pulls.words(pod.metadata.name):
        return f"pending: {pull}"
    if pod.metadata.deletion_timestamp:
        return _LEAVING
    state = words(pod)
    said = warnings.of(pod.metadata.name) or admission
    return f"{state}: {said}" if said and state == "pending" else state


def _leaving(cause: str, late: Iterable[Pod]) -> str:
    """An example of the pods that do not go: often, their node does not answer."""
    if cause != _LEAVING:
        return ""
    pod = next(pod for pod in late if pod.metadata.deletion_timestamp)
    return f" (such as {pod.metadata.name} on node {pod.spec.node_name})"


def _of_the_job(pods: Iterable[Pod], warnings: Warnings, admission: str) -> str:
    said = [admission] if admission else warnings.beside(_names(pods))[:_SHOWN]
    return "".join(f", {each}" for each in said)


def _names(pods: Iterable[Pod]) -> set[str]:
    return {pod.metadata.name for pod in pods}
