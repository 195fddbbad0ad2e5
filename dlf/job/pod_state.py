"""A pod's state in words, and the questions that decisions ask of a pod."""

from collections.abc import Iterator

from dlf.manifest.observed import Condition, ContainerStatus, Pod, Terminated

# Waiting reasons that are a normal step on the way.
_NORMAL = {"ContainerCreating", "PodInitializing"}


def containers(pod: Pod) -> Iterator[ContainerStatus]:
    """The statuses of init containers, then of containers."""
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def started(pod: Pod) -> bool:
    """Whether the pod got as far as running a container of the training."""
    return any(
        status.state.running or status.state.terminated or status.restart_count
        for status in pod.status.container_statuses or ()
    ) or pod.status.phase in {"Running", "Succeeded", "Failed"}


def ended(pod: Pod) -> bool:
    """Whether nothing of the pod runs any more."""
    return pod.status.phase in {"Succeeded", "Failed"}


def condition(pod: Pod, type_: str) -> Condition | None:
    """The condition of this type, or None."""
    return next((each for each in pod.status.conditions or () if each.type == type_), None)


def disrupted(pod: Pod) -> Condition | None:
    """The mark that the cluster takes the pod away: eviction, preemption, node drain."""
    found = condition(pod, "DisruptionTarget")
    return found if found and found.status == "True" else None


def words(pod: Pod) -> str:
    """One phrase: `running on node-3`, `pending: ImagePullBackOff: ...`, `failed`."""
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    if pod.metadata.deletion_timestamp and not ended(pod):
        return "being deleted"
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


def waiting(pod: Pod) -> tuple[str, str] | None:
    """Reason and message of the first container that waits for more than the normal steps."""
    for status in containers(pod):
        wait = status.state.waiting
        if wait and wait.reason and wait.reason not in _NORMAL:
            return wait.reason, wait.message or ""
    return None


def _trouble(pod: Pod) -> str:
    found = waiting(pod)
    return ": ".join(filter(None, found)) if found else ""


def _unscheduled(pod: Pod) -> str:
    found = condition(pod, "PodScheduled")
    if found and found.status == "False":
        return ": ".join(filter(None, (found.reason, found.message)))
    return ""


def _initializing(pod: Pod) -> str:
    for status in pod.status.init_container_statuses or ():
        if status.state.running:
            return f"init container {status.name} is running"
    return ""


def _failure(pod: Pod) -> str:
    if pod.status.reason:
        return ": ".join(filter(None, (pod.status.reason, pod.status.message)))
    for status in containers(pod):
        end = status.state.terminated
        if end and end.exit_code:
            return _ending(end)
    return ""


def _ending(end: Terminated) -> str:
    reason = f"{end.reason}, " if end.reason not in {None, "", "Error"} else ""
    return f"{reason}exit code {end.exit_code}"


def _because(text: str) -> str:
    return f": {text.strip().splitlines()[0]}" if text.strip() else ""
