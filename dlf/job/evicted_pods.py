"""Evictions of which only the kubelet's event tells.

A kubelet evicts a pod that exceeds its own limit of ephemeral storage, or the size of a volume,
without the condition DisruptionTarget. If the containers then exit 0 on SIGTERM, it calls the pod
Succeeded and takes the reason Evicted back (seen with Kubernetes 1.34).
"""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from dlf.diagnose.pod_state import disruption
from dlf.errors import DlfError
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import EVENT
from dlf.manifest.observed import Condition, Event, Meta, Pod

READ_SECONDS = 5.0
"""How long the end of a job waits for these events."""


async def read_evictions(
    client: KubeClient, job: Meta, pods: Iterable[Pod], verbose: Callable[[str], None]
) -> dict[str, Event]:
    """The evictions in the job's namespace, by the pod's uid; a refusal is no error.

    Nothing is read where no pod is in phase Succeeded.

    Args:
        client: of the cluster.
        job: name and namespace.
        pods: of the job.
        verbose: prints a line with `--verbose`.
    """
    if not any(pod.status.phase == "Succeeded" for pod in pods):
        return {}
    selector = "involvedObject.kind=Pod,reason=Evicted"
    try:
        async with asyncio.timeout(READ_SECONDS):
            events, _ = await client.list(EVENT, job.namespace, Event, field_selector=selector)
    except (DlfError, TimeoutError) as error:
        verbose(f"it is not known whether pods were evicted that exited 0: {error}")
        return {}
    return {event.involved_object.uid: event for event in events}


def with_eviction(pod: Pod, event: Event | None) -> Pod:
    """A pod in phase Succeeded as a kubelet marks it for other evictions."""
    if event is None or pod.status.phase != "Succeeded" or disruption(pod):
        return pod
    mark = Condition(
        type="DisruptionTarget",
        status="True",
        reason=event.reason,
        message=event.message,
        last_transition_time=event.first_timestamp or event.event_time,
    )
    status = msgspec.structs.replace(pod.status, conditions=[*(pod.status.conditions or ()), mark])
    return msgspec.structs.replace(pod, status=status)
