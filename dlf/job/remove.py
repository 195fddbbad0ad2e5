"""Deletes a job, or stops only the pods that still run after its end."""

from collections.abc import Iterable
from contextlib import aclosing

import msgspec

from dlf.errors import Rejected
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Change, Snapshot, list_and_watch
from dlf.kube.request import ApiRequest, action_of, path_of
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB, Command
from dlf.manifest.kinds import COMMAND, POD, Kind
from dlf.manifest.meta import ObjectMeta, OwnerReference
from dlf.manifest.observed import Job, Pod

_MERGE_PATCH = "application/merge-patch+json"


async def remove(client: KubeClient, kind: JobKind, job: Job) -> None:
    """Delete a job in the foreground and wait until the object and its pods are gone.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    await request_deletion(client, kind, job)
    await wait_deleted(client, kind, job)


async def request_deletion(client: KubeClient, kind: JobKind, job: Job) -> None:
    """Request the job's deletion in the foreground; the cluster completes it by itself.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    meta = job.metadata
    await client.delete(kind, meta.namespace, meta.name, uid=meta.uid, foreground=True)


async def wait_deleted(client: KubeClient, kind: JobKind, job: Job) -> None:
    """Wait until the job and its pods are gone: only then is what they held free.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    meta = job.metadata
    field = f"metadata.name={meta.name}"
    await _wait_gone(client, kind, meta.namespace, Job, {meta.uid}, field_selector=field)
    label = f"{kind.job_label}={meta.name}"
    await _wait_gone(client, POD, meta.namespace, Pod, None, label_selector=label)


async def _wait_gone(
    client: KubeClient,
    kind: Kind,
    namespace: str,
    type_: type[Job] | type[Pod],
    uids: set[str] | None,
    *,
    label_selector: str = "",
    field_selector: str = "",
) -> None:
    """Wait until none of these objects exists; None stands for those that exist at first."""
    selectors = {"label_selector": label_selector, "field_selector": field_selector}
    async with aclosing(list_and_watch(client, kind, namespace, type_, **selectors)) as events:
        async for event in events:
            match event:
                case Snapshot(items):
                    there = {item.metadata.uid for item in items}
                    uids = there if uids is None else uids & there
                case Change("DELETED", item):
                    uids = (uids or set()) - {item.metadata.uid}
                case _:
                    pass
            if not uids:
                return


def operator_cleans_up(kind: JobKind, job: Job) -> bool:
    """Whether the operator itself stops the pods that still run when it has ended this job.

    Volcano always does; a Kubeflow operator when the job's cleanPodPolicy says so.
    """
    return kind == VOLCANO_JOB or job.clean_pod_policy in {"Running", "All"}


def any_running(pods: Iterable[Pod]) -> bool:
    """Whether any of these pods runs, or may still, without being deleted."""
    return any(
        pod.status.phase in {"Pending", "Running"} and not pod.metadata.deletion_timestamp
        for pod in pods
    )


async def request_pod_stop(client: KubeClient, kind: JobKind, job: Job) -> None:
    """Ask the operator to stop the pods that still run, so that they hold no accelerators.

    Volcano completes the job on a Command; a Kubeflow operator cleans up a finished job by its
    cleanPodPolicy.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    if kind == VOLCANO_JOB:
        command = msgspec.json.encode(_command(kind, job, "CompleteJob"))
        try:
            await client.create(COMMAND, job.metadata.namespace, command)
        except Rejected as error:
            if error.status != 409:  # an earlier try arrived, although its answer did not
                raise
    else:
        await patch(client, kind, job, {"spec": {"runPolicy": {"cleanPodPolicy": "Running"}}})


async def patch(client: KubeClient, kind: JobKind, job: Job, change: object) -> None:
    """Merge a change into a job.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    meta = job.metadata
    await client.request(
        ApiRequest(
            action=action_of("patch", kind, meta.namespace, meta.name),
            method="PATCH",
            path=path_of(kind, meta.namespace, meta.name),
            body=msgspec.json.encode(change),
            content_type=_MERGE_PATCH,
        )
    )


def _command(kind: JobKind, job: Job, action: str) -> Command:
    """A Command for the job: Volcano's controller acts on it and deletes it."""
    meta = job.metadata
    owner = OwnerReference(
        api_version=kind.api_version,
        kind=kind.name,
        name=meta.name,
        uid=meta.uid,
        controller=True,
        block_owner_deletion=False,
    )
    target: dict[str, str | bool] = msgspec.to_builtins(owner)
    return Command(
        api_version=COMMAND.api_version,
        kind=COMMAND.name,
        metadata=ObjectMeta(
            name=f"{meta.name}-{action.lower()}-{meta.uid[:8]}",
            namespace=meta.namespace,
            owner_references=[owner],
        ),
        action=action,
        target=target,
    )
