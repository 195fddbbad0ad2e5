"""A pod's state in words, and the questions that decisions ask of a pod."""

import datetime
from collections.abc import Iterator

import msgspec

from dlf.manifest.observed import Condition, ContainerStatus, Pod, Terminated

# Waiting reasons that are a normal step on the way.
_NORMAL = {"ContainerCreating", "PodInitializing"}

_GRACE = 30  # seconds: Kubernetes' own terminationGracePeriodSeconds, which dlf leaves as it is

_DISRUPTIONS = {
    "PreemptionByScheduler": "a pod of higher priority needed its place",
    "DeletionByTaintManager": "its node was tainted or lost",
    "EvictionByEvictionAPI": "evicted, as when a node is drained",
    "DeletionByPodGC": "its node is gone",
    "TerminationByKubelet": "its node shuts down, or ran out of a resource",
}
"""The reasons of corev1's pod condition DisruptionTarget."""


class Wait(msgspec.Struct, frozen=True):
    """Why a container does not start.

    Attributes:
        where: "" for a container, `init container NAME` for another.
        reason: the kubelet's word, such as `ImagePullBackOff`.
        message: more words, or "".
    """

    where: str
    reason: str
    message: str

    @property
    def text(self) -> str:
        """All of it in one line."""
        return ": ".join(filter(None, (self.where, self.reason, self.message)))


def containers(pod: Pod) -> Iterator[ContainerStatus]:
    """The statuses of init containers, then of containers."""
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def started(pod: Pod) -> bool:
    """Whether the pod got as far as running a container of the training.

    A pod that the kubelet refused or evicted before that is Failed, and never started.
    """
    return any(
        status.state.running or status.state.terminated or status.restart_count
        for status in pod.status.container_statuses or ()
    ) or pod.status.phase in {"Running", "Succeeded"}


def is_late(pod: Pod) -> bool:
    """Whether it has not started, or is in the way of the pod that takes its place."""
    return not started(pod) or bool(pod.metadata.deletion_timestamp and not ended(pod))


def ended(pod: Pod) -> bool:
    """Whether nothing of the pod runs any more."""
    return pod.status.phase in {"Succeeded", "Failed"}


def condition(pod: Pod, type_: str) -> Condition | None:
    """The condition of this type, or None."""
    return next((each for each in pod.status.conditions or () if each.type == type_), None)


def disruption(pod: Pod) -> str:
    """Why the cluster takes the pod away: eviction, preemption, node drain; "" when it does not."""
    found = condition(pod, "DisruptionTarget")
    if not found or found.status != "True":
        return ""
    meaning = _DISRUPTIONS.get(found.reason or "", "")
    return ": ".join(filter(None, (found.reason or found.type, found.message or meaning)))


def stopped(pod: Pod, end: Terminated) -> bool:
    """Whether the container ended because its pod was deleted, and not by itself.

    deletionTimestamp is the time of the request plus the grace that the pod was given.
    """
    if not pod.metadata.deletion_timestamp:
        return False
    if not end.finished_at:
        return True
    grace = pod.metadata.deletion_grace_period_seconds
    asked = _time(pod.metadata.deletion_timestamp) - datetime.timedelta(
        seconds=_GRACE if grace is None else grace
    )
    return _time(end.finished_at) >= asked


def waiting(pod: Pod) -> Wait | None:
    """The first container that waits for more than the normal steps."""
    init = len(pod.status.init_container_statuses or ())
    for index, status in enumerate(containers(pod)):
        wait = status.state.waiting
        if wait and wait.reason and wait.reason not in _NORMAL:
            where = f"init container {status.name}" if index < init else ""
            return Wait(where, wait.reason, wait.message or "")
    return None


def words(pod: Pod) -> str:
    """One phrase: `running on node-3`, `pending: ImagePullBackOff: ...`, `failed`."""
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    if pod.metadata.deletion_timestamp and not ended(pod):
        return f"being deleted{where}" + _because(disruption(pod))
    match pod.status.phase:
        case "Succeeded":
            return "succeeded"
        case "Failed":
            return "failed" + _because(_failure(pod))
        case "Running":
            restarts = sum(status.restart_count for status in containers(pod))
            trouble = _because(_trouble(pod))
            return f"running{where}" + (f", {restarts} restarts" if restarts else "") + trouble
        case "Unknown":
            return f"unknown: its node{where} does not answer"
        case _:
            return "pending" + _because(_trouble(pod) or _unscheduled(pod) or _initializing(pod))


def meaning_of_end(end: Terminated) -> str:
    """`exit code 7`, `OOMKilled, exit code 137`."""
    reason = f"{end.reason}, " if end.reason not in {None, "", "Error"} else ""
    return f"{reason}exit code {end.exit_code}"


def _trouble(pod: Pod) -> str:
    found = waiting(pod)
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
            return f"init container {status.name}: {meaning_of_end(end)}"
    return ""


def _failure(pod: Pod) -> str:
    if pod.status.reason:
        return ": ".join(filter(None, (pod.status.reason, pod.status.message)))
    for status in containers(pod):
        end = status.state.terminated
        if end and end.exit_code:
            return meaning_of_end(end)
    return disruption(pod)


def _because(text: str) -> str:
    return f": {text.strip().splitlines()[0]}" if text.strip() else ""


def _time(stamp: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(stamp)
