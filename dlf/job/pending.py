"""Why a job has not started: one sentence, from all that the cluster says about it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dlf.job.pod_state import started, waiting, words
from dlf.manifest.observed import Event, Pod

# Waiting reasons that no amount of waiting changes.
_HOPELESS = {"InvalidImageName", "ErrImageNeverPull"}
_SHOWN = 3


def hopeless(pods: Iterable[Pod]) -> tuple[Pod, str] | None:
    """A pod that can never start, and why; None while there is hope."""
    for pod in pods:
        found = waiting(pod)
        if found and found[0] in _HOPELESS:
            return pod, ": ".join(filter(None, found))
    return None


def why(pods: Sequence[Pod], total: int, warnings: Mapping[str, Event]) -> str:
    """One line on what is being waited for, or "" when all pods have started.

    Args:
        pods: of the job, as they are.
        total: how many there should be.
        warnings: the newest warning event of each object of the job, by the object's name.
    """
    late = [pod for pod in pods if not started(pod)]
    missing = total - len(pods)
    if not late and missing <= 0:
        return ""
    causes = Counter(_cause(pod, warnings.get(pod.metadata.name)) for pod in late)
    told = [f"{count} {cause}" for cause, count in causes.most_common(_SHOWN)]
    if missing > 0:
        told.append(f"{missing} not created" + _of_the_job(pods, warnings))
    return f"waiting for {len(late) + max(missing, 0)} of {total} pods: {'; '.join(told)}"


def text(event: Event) -> str:
    """The event's reason and message in one line."""
    message = (event.message or "").strip().partition("\n")[0]
    return ": ".join(filter(None, (event.reason, message)))


def _cause(pod: Pod, warning: Event | None) -> str:
    """The pod's own words; the event only where the status does not tell (mounts, sandboxes)."""
    state = words(pod)
    return f"{state}: {text(warning)}" if warning and state == "pending" else state


def _of_the_job(pods: Iterable[Pod], warnings: Mapping[str, Event]) -> str:
    """What the events of the other objects say: the job itself, its PodGroup."""
    names = {pod.metadata.name for pod in pods}
    return "".join(f", {text(event)}" for name, event in warnings.items() if name not in names)
