"""Which pod failed first: the cause, before the wave of errors of its peers."""

from collections.abc import Callable, Iterable

from dlf.diagnose.first_cause import victims_last
from dlf.diagnose.log_evidence import find_evidence, shown
from dlf.diagnose.pod_state import container_statuses, disruption, ended_by_deletion
from dlf.diagnose.roles import PodIdentity
from dlf.logs.log_options import SIDECARS
from dlf.manifest.observed import ContainerStatus, Pod, Terminated
from dlf.outcome.outcome import PodFailure

# How a container ends that a signal ended: most often, since another one had failed.
_SIGNALLED = {137, 143}

LastLines = Callable[[str, str], Iterable[bytes]]


def failures(
    pods: Iterable[Pod],
    identify: Callable[[Pod], PodIdentity],
    last_lines: LastLines,
    *,
    restarted: bool = False,
) -> tuple[PodFailure, ...]:
    """All that failed, the first in time first; what was stopped by a deletion after all others.

    Times have whole seconds; within one, a container that ended by itself comes before one that
    a signal ended, and then ranks decide. `victims_last` has the last word on those that failed
    together.

    Args:
        pods: their last known states.
        identify: role and rank of a pod.
        last_lines: the end of the log of (pod, container), as much as is kept.
        restarted: count a container that failed and was started again, too.
    """
    found = [each for pod in pods for each in _of_pod(pod, identify(pod), last_lines, restarted)]
    return victims_last(sorted(found, key=_order))


def _of_pod(pod: Pod, who: PodIdentity, last_lines: LastLines, restarted: bool) -> list[PodFailure]:
    taken = disruption(pod)
    found = []
    for status in container_statuses(pod):
        end = _end(status, restarted)
        if not end or not end.exit_code or _is_proxy(pod, status):
            continue
        reason, message = _reason(pod, taken, end)
        kept = tuple(last_lines(pod.metadata.name, status.name))
        found.append(
            PodFailure(
                pod=pod.metadata.name,
                role=who.role,
                rank=who.rank,
                container=status.name,
                exit_code=end.exit_code,
                reason=reason,
                message=message,
                node=pod.spec.node_name or "",
                finished_at=end.finished_at or "",
                evidence=find_evidence(kept),
                last_lines=shown(kept),
                stopped=not taken and ended_by_deletion(pod, end),
            )
        )
    lost = pod.status.phase == "Failed" or (taken and pod.status.phase != "Succeeded")
    if not found and lost:  # evicted before it ran, its node lost ...
        reason, message = _reason(pod, taken, Terminated())
        found.append(
            PodFailure(
                pod=pod.metadata.name,
                role=who.role,
                rank=who.rank,
                reason=reason,
                message=message,
                node=pod.spec.node_name or "",
                finished_at=_disrupted_at(pod),
            )
        )
    return found


def _end(status: ContainerStatus, restarted: bool) -> Terminated | None:
    return status.state.terminated or (status.last_state.terminated if restarted else None)


def _is_proxy(pod: Pod, status: ContainerStatus) -> bool:
    """A service mesh's sidecar; init containers are part of the job's start, whoever adds them."""
    return status.name in SIDECARS and status in (pod.status.container_statuses or ())


def _reason(pod: Pod, taken: str, end: Terminated) -> tuple[str, str]:
    """The cluster's reason for the whole pod, or else the container's own."""
    if pod.status.reason:
        return pod.status.reason, pod.status.message or ""
    if taken:
        reason, _, message = taken.partition(": ")
        return reason, message
    return end.reason or "", end.message or pod.status.message or ""


def _disrupted_at(pod: Pod) -> str:
    marks = (each for each in pod.status.conditions or () if each.type == "DisruptionTarget")
    return next((mark.last_transition_time or "" for mark in marks), "")


def _order(failure: PodFailure) -> tuple[bool, str, bool, int, str]:
    signalled = failure.exit_code in _SIGNALLED and failure.reason in {"", "Error"}
    rank = -1 if failure.rank is None else failure.rank
    return failure.stopped, failure.finished_at or "~", signalled, rank, failure.pod
