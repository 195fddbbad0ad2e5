"""Which containers of a pod train, by the resource that created it, and how they ended.

All other containers were injected: a service mesh's proxy, a log shipper. They may run on when the
training has ended, and the kubelet may kill them at the end: neither says anything of the training.
"""

from collections.abc import Mapping, Sequence

from dlf.diagnose.pod_state import ended_by_removal, has_ended
from dlf.diagnose.roles import PodIdentity
from dlf.logs.log_options import SIDECARS
from dlf.manifest.observed import ContainerStatus, Pod

Containers = Mapping[str, frozenset[str]]
"""Role to the names of its training containers, as `Job.containers`."""


def training_statuses(
    pod: Pod, identity: PodIdentity, containers: Containers
) -> list[ContainerStatus]:
    """The statuses of the pod's training containers.

    Where the resource names none of the pod's containers, known sidecars are left out instead.
    """
    statuses = pod.status.container_statuses or ()
    names = containers.get(identity.role, frozenset())
    found = [each for each in statuses if each.name in names]
    return found or [each for each in statuses if each.name not in SIDECARS]


def training_ended(pod: Pod, statuses: Sequence[ContainerStatus]) -> bool:
    """Whether all training containers of the pod have ended, though others may run on."""
    return has_ended(pod) or (bool(statuses) and all(each.state.terminated for each in statuses))


def training_succeeded(pod: Pod, statuses: Sequence[ContainerStatus]) -> bool:
    """Whether the pod's training ended well and of its own accord.

    Trainers catch SIGTERM, save a checkpoint and exit 0: a pod that was being deleted, preempted or
    evicted when they ended has not done its work, whatever its exit code and phase.
    """
    ends = [each.state.terminated for each in statuses]
    if not ends:
        return pod.status.phase == "Succeeded"
    return all(end and not end.exit_code and not ended_by_removal(pod, end) for end in ends)


def remaining_containers(pod: Pod, statuses: Sequence[ContainerStatus]) -> list[str]:
    """The containers that run on although the training of the pod has ended."""
    training = {each.name for each in statuses}
    return [
        each.name
        for each in pod.status.container_statuses or ()
        if each.name not in training and not each.state.terminated
    ]
