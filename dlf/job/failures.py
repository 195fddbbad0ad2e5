"""Which pod failed first: the cause, before the wave of errors of its peers."""

from collections.abc import Callable, Iterable

from dlf.job.outcome import PodFailure
from dlf.job.pod_state import containers, disrupted
from dlf.job.roles import Identity
from dlf.manifest.observed import Pod

# How a container ends that was stopped because another one failed.
_STOPPED = {137, 143}


def failures(
    pods: Iterable[Pod],
    identify: Callable[[Pod], Identity],
    last_lines: Callable[[str, str], Iterable[bytes]],
) -> tuple[PodFailure, ...]:
    """All that failed, the first in time first.

    Times have whole seconds; within one, a container that ended by itself comes before one that
    was stopped, and then ranks decide.

    Args:
        pods: as they are now.
        identify: role and rank of a pod.
        last_lines: the end of the log of (pod, container).
    """
    found = [each for pod in pods for each in _of_pod(pod, identify(pod), last_lines)]
    return tuple(sorted(found, key=_order))


def _of_pod(
    pod: Pod, who: Identity, last_lines: Callable[[str, str], Iterable[bytes]]
) -> list[PodFailure]:
    node = pod.spec.node_name or ""
    taken = disrupted(pod)
    found = []
    for status in containers(pod):
        end = status.state.terminated
        if end and end.exit_code:
            reason = pod.status.reason or (taken and taken.reason) or end.reason or ""
            message = pod.status.message or (taken and taken.message) or end.message or ""
            found.append(
                PodFailure(
                    pod=pod.metadata.name,
                    role=who.role,
                    rank=who.rank,
                    container=status.name,
                    exit_code=end.exit_code,
                    reason=reason,
                    message=message,
                    node=node,
                    finished_at=end.finished_at or "",
                    last_lines=tuple(last_lines(pod.metadata.name, status.name)),
                )
            )
    if not found and pod.status.phase == "Failed":  # evicted before it ran, node lost ...
        found.append(
            PodFailure(
                pod=pod.metadata.name,
                role=who.role,
                rank=who.rank,
                reason=pod.status.reason or (taken and taken.reason) or "",
                message=pod.status.message or (taken and taken.message) or "",
                node=node,
                finished_at=(taken and taken.last_transition_time) or "",
            )
        )
    return found


def _order(failure: PodFailure) -> tuple[str, bool, int, str]:
    stopped = failure.exit_code in _STOPPED and failure.reason in {"", "Error"}
    rank = -1 if failure.rank is None else failure.rank
    return failure.finished_at or "~", stopped, rank, failure.pod
