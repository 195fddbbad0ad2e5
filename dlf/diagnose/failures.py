"""Which pod failed first: the cause, before the wave of errors of its peers."""

import datetime
from collections.abc import Callable, Iterable, Mapping

from dlf.diagnose.first_cause import victims_last
from dlf.diagnose.log_evidence import find_evidence, shown
from dlf.diagnose.pod_state import (
    condition,
    container_statuses,
    disruption,
    ended_by_deletion,
    ended_by_removal,
    native_sidecars,
)
from dlf.diagnose.roles import PodIdentity
from dlf.manifest.meta import parse_time
from dlf.manifest.observed import ContainerStatus, Pod, Terminated
from dlf.outcome.outcome import PodFailure

# How a container ends that a signal ended: most often, since another one had failed.
_SIGNALLED = {137, 143}
_LAST = datetime.datetime.max.replace(tzinfo=datetime.UTC)

LastLines = Callable[[str, str], Iterable[bytes]]


def failures(
    pods: Iterable[Pod],
    identify: Callable[[Pod], PodIdentity],
    training: Callable[[Pod], Iterable[ContainerStatus]],
    last_lines: LastLines,
    *,
    seen: Mapping[str, str] | None = None,
    restarted: bool = False,
) -> tuple[PodFailure, ...]:
    """All that failed, the first in time first; what was stopped by a deletion after all others.

    The time is that at which the cause arose: when the cluster began to remove the pod, or else
    when the container ended, or else when our watch first saw the pod so. Times have whole seconds;
    within one, a container that ended by itself comes before one that a signal ended, and then
    ranks decide. `victims_last` has the last word on those that failed together.

    A pod that the cluster took away failed whatever its exit code: trainers exit 0 on SIGTERM. A
    container that does not train counts only where it is why its pod failed.

    Args:
        pods: their last known states.
        identify: role and rank of a pod.
        training: the statuses of a pod's training containers.
        last_lines: the end of the log of (pod, container), as much as is kept.
        seen: uid of a pod to the time when it was first seen to have ended or to be removed.
        restarted: count a container that failed and was started again, too.
    """
    found = [
        failure
        for pod in pods
        for failure in _of_pod(
            pod,
            identify(pod),
            _counting(pod, list(training(pod)), restarted=restarted),
            last_lines,
            (seen or {}).get(pod.metadata.uid, ""),
        )
    ]
    return victims_last(sorted(found, key=_order))


def _of_pod(
    pod: Pod,
    identity: PodIdentity,
    ends: Iterable[tuple[str, Terminated]],
    last_lines: LastLines,
    seen: str,
) -> list[PodFailure]:
    taken = disruption(pod)
    found = []
    for name, end in ends:
        cause = taken if ended_by_removal(pod, end) else ""
        if not end.exit_code and not cause:
            continue
        reason, message = _reason(pod, cause, end)
        kept = tuple(last_lines(pod.metadata.name, name))
        found.append(
            PodFailure(
                pod=pod.metadata.name,
                role=identity.role,
                rank=identity.rank,
                container=name,
                exit_code=end.exit_code,
                reason=reason,
                message=message,
                node=pod.spec.node_name or "",
                finished_at=_arose_at(pod, end) or seen,
                evidence=find_evidence(kept),
                last_lines=shown(kept),
                stopped=not cause and ended_by_deletion(pod, end),
            )
        )
    lost = pod.status.phase == "Failed" or (taken and pod.status.phase != "Succeeded")
    if not found and lost:  # evicted before it ran, its node lost ...
        reason, message = _reason(pod, taken, Terminated())
        found.append(
            PodFailure(
                pod=pod.metadata.name,
                role=identity.role,
                rank=identity.rank,
                reason=reason,
                message=message,
                node=pod.spec.node_name or "",
                finished_at=_disrupted_at(pod) or seen,
            )
        )
    return found


def _counting(
    pod: Pod, training: list[ContainerStatus], *, restarted: bool
) -> list[tuple[str, Terminated]]:
    """The ends that count: of the init containers and of the training containers.

    Those of others count where the pod failed and no training container did. Native sidecars are
    killed at the end of every pod; theirs never count once the training has begun.
    """
    names = {each.name for each in training}
    native = native_sidecars(pod) if any(each.container_id for each in training) else frozenset()
    main = {each.name for each in pod.status.container_statuses or ()}
    ends = [
        (status.name, end)
        for status in container_statuses(pod)
        if status.name not in native and (end := _end(status, restarted=restarted))
    ]
    counting = [each for each in ends if each[0] in names or each[0] not in main]
    if pod.status.phase == "Failed" and not any(end.exit_code for _, end in counting):
        return ends
    return counting


def _end(status: ContainerStatus, *, restarted: bool) -> Terminated | None:
    return status.state.terminated or (status.last_state.terminated if restarted else None)


def _reason(pod: Pod, taken: str, end: Terminated) -> tuple[str, str]:
    """The cluster's reason for the whole pod, or else the container's own."""
    if pod.status.reason:
        return pod.status.reason, pod.status.message or ""
    if taken:
        reason, _, message = taken.partition(": ")
        return reason, message
    return end.reason or "", end.message or pod.status.message or ""


def _arose_at(pod: Pod, end: Terminated) -> str:
    """When the cluster began to take the pod away, if that was before the container ended."""
    taken, finished = _disrupted_at(pod), end.finished_at or ""
    taken_time, finished_time = parse_time(taken), parse_time(finished)
    if taken_time and (not finished_time or taken_time < finished_time):
        return taken
    return finished


def _disrupted_at(pod: Pod) -> str:
    mark = condition(pod, "DisruptionTarget")
    return (mark.last_transition_time or "") if mark and mark.status == "True" else ""


def _order(failure: PodFailure) -> tuple[bool, datetime.datetime, bool, int, str]:
    signalled = failure.exit_code in _SIGNALLED and failure.reason in {"", "Error"}
    rank = -1 if failure.rank is None else failure.rank
    time = parse_time(failure.finished_at) or _LAST
    return failure.stopped, time, signalled, rank, failure.pod
