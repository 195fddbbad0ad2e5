"""A pod's state in words, and the yes-or-no questions that decisions ask about a pod."""

import datetime
from collections.abc import Iterator

import msgspec

from dlf.manifest.observed import Condition, ContainerStatus, Pod, Terminated

# Waiting reasons that are a normal step on the way.
_NORMAL = {"ContainerCreating", "PodInitializing"}

_DEFAULT_GRACE_SECONDS = 30  # default of terminationGracePeriodSeconds, which dlf does not change

_DISRUPTIONS = {
    "PreemptionByScheduler": "a pod of higher priority needed its place",
    "DeletionByTaintManager": "its node was tainted or lost",
    "EvictionByEvictionAPI": "evicted, as when a node is drained",
    "DeletionByPodGC": "its node is gone",
    "TerminationByKubelet": "its node shuts down, or ran out of a resource",
}
"""The reasons of corev1's pod condition DisruptionTarget."""


class WaitReason(msgspec.Struct, frozen=True):
    """Why a container does not start.

    Attributes:
        where: "" for a container, `init container NAME` for another.
        reason: the kubelet's reason, such as `ImagePullBackOff`.
        message: more words, or "".
    """

    where: str
    reason: str
    message: str

    @property
    def text(self) -> str:
        """All of it in one line."""
        return ": ".join(filter(None, (self.where, self.reason, self.message)))


def container_statuses(pod: Pod) -> Iterator[ContainerStatus]:
    """The statuses of init containers, then of containers."""
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def has_started(pod: Pod) -> bool:
    """Whether the pod got as far as running a container of the training.

    A pod that the kubelet refused or evicted before that is Failed, and never started.
    """
    return any(
        status.state.running or status.state.terminated or status.restart_count
        for status in pod.status.container_statuses or ()
    ) or pod.status.phase in {"Running", "Succeeded"}


def not_started(pod: Pod) -> bool:
    """Whether it has not started, or is being deleted and holds up the pod that replaces it."""
    return not has_started(pod) or bool(pod.metadata.deletion_timestamp and not has_ended(pod))


def has_ended(pod: Pod) -> bool:
    """Whether all its containers have ended."""
    return pod.status.phase in {"Succeeded", "Failed"}


def condition(pod: Pod, type_: str) -> Condition | None:
    """The condition of this type, or None."""
    return next((each for each in pod.status.conditions or () if each.type == type_), None)


def disruption(pod: Pod) -> str:
    """Why the cluster removes the pod: eviction, preemption, node drain; "" when it does not."""
    found = condition(pod, "DisruptionTarget")
    if not found or found.status != "True":
        return ""
    meaning = _DISRUPTIONS.get(found.reason or "", "")
    return ": ".join(filter(None, (found.reason or found.type, found.message or meaning)))


def ended_by_deletion(pod: Pod, end: Terminated) -> bool:
    """Whether the container ended because its pod was deleted, and not by itself.

    deletionTimestamp is the time of the request plus the grace period that the pod was given.
    """
    if not pod.metadata.deletion_timestamp:
        return False
    if not end.finished_at:
        return True
    grace = pod.metadata.deletion_grace_period_seconds
    requested = _time(pod.metadata.deletion_timestamp) - datetime.timedelta(
        seconds=_DEFAULT_GRACE_SECONDS if grace is None else grace
    )
    return _time(end.finished_at) >= requested


def since_first_deletion(pod: Pod, before: Pod | None) -> Pod:
    """The pod with the time and grace period of the first request for its deletion.

    The kubelet ends a graceful deletion with a second one that has no grace period. With it the API
    server moves deletionTimestamp to the time of that last step, which is later than the end of
    the containers, as if they had ended by themselves before.

    Args:
        pod: as it is seen now.
        before: the pod of that name as it was seen before, from here; it may be another one.
    """
    if before is None or before.metadata.uid != pod.metadata.uid:
        return pod
    first = before.metadata
    if not first.deletion_timestamp:
        return pod
    metadata = msgspec.structs.replace(
        pod.metadata,
        deletion_timestamp=first.deletion_timestamp,
        deletion_grace_period_seconds=first.deletion_grace_period_seconds,
    )
    return msgspec.structs.replace(pod, metadata=metadata)


def ended_by_removal(pod: Pod, end: Terminated) -> bool:
    """Whether the container ended when its pod was being deleted, preempted or evicted.

    Trainers catch SIGTERM, save a checkpoint and exit 0: such a success is none.
    """
    if ended_by_deletion(pod, end):
        return True
    mark = condition(pod, "DisruptionTarget")
    if not mark or mark.status != "True":
        return False
    if not end.finished_at or not mark.last_transition_time:
        return True
    return _time(end.finished_at) >= _time(mark.last_transition_time)


def native_sidecars(pod: Pod) -> frozenset[str]:
    """The init containers that run as long as the pod: the kubelet kills them at its end."""
    containers = pod.spec.init_containers or ()
    return frozenset(each.name for each in containers if each.restart_policy == "Always")


def wait_reason(pod: Pod) -> WaitReason | None:
    """The first container that waits for more than the normal steps."""
    init = len(pod.status.init_container_statuses or ())
    for index, status in enumerate(container_statuses(pod)):
        wait = status.state.waiting
        if wait and wait.reason and wait.reason not in _NORMAL:
            where = f"init container {status.name}" if index < init else ""
            return WaitReason(where, wait.reason, wait.message or "")
    return None


def describe_pod(pod: Pod) -> str:
    """One phrase: `running on node-3`, `pending: ImagePullBackOff: ...`, `failed`."""
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    if pod.metadata.deletion_timestamp and not has_ended(pod):
        return f"being deleted{where}" + _because(disruption(pod))
    match pod.status.phase:
        case "Succeeded":
            return "succeeded"
        case "Failed":
            return "failed" + _because(_failure(pod))
        case "Running":
            restarts = sum(status.restart_count for status in container_statuses(pod))
            trouble = _because(_trouble(pod))
            return f"running{where}" + (f", {restarts} restarts" if restarts else "") + trouble
        case "Unknown":
            return f"unknown: its node{where} does not answer"
        case _:
            return "pending" + _because(_trouble(pod) or _unscheduled(pod) or _initializing(pod))


def describe_exit(end: Terminated) -> str:
    """`exit code 7`, `OOMKilled, exit code 137`."""
    reason = f"{end.reason}, " if end.reason not in {None, "", "Error"} else ""
    return f"{reason}exit code {end.exit_code}"


def _trouble(pod: Pod) -> str:
    found = wait_reason(pod)
    return found.text if found else ""


def _unscheduled(pod: Pod) -> str:
    found = condition(pod, "PodScheduled")
    if found and found.status == "False":
        return ": ".join(filter(None, (found.reason, found.message)))
    return ""


def _initializing(pod: Pod) -> str:
    for status in pod.status.init_container_statuses or ():
        if status.state.running:
            return f"init container {status.name} is running"
        end = status.state.terminated
        if end and end.exit_code:
            return f"init container {status.name}: {describe_exit(end)}"
    return ""


def _failure(pod: Pod) -> str:
    if pod.status.reason:
        return ": ".join(filter(None, (pod.status.reason, pod.status.message)))
    for status in container_statuses(pod):
        end = status.state.terminated
        if end and end.exit_code:
            return describe_exit(end)
    return disruption(pod)


def _because(text: str) -> str:
    return f": {text.strip().splitlines()[0]}" if text.strip() else ""


def _time(timestamp: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(timestamp)
