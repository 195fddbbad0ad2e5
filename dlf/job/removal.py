"""Taking a job away: all of it, or only what still runs after its end."""

from contextlib import aclosing

import msgspec

from dlf.errors import Rejected
from dlf.kube.client import KubeClient
from dlf.kube.follow import Change, Snapshot, follow
from dlf.kube.request import Request, action_of, path_of
from dlf.manifest.kinds import COMMAND, POD, VOLCANO_JOB, Kind
from dlf.manifest.meta import ObjectMeta, OwnerReference
from dlf.manifest.observed import Job, Pod
from dlf.manifest.volcano import Command

_MERGE_PATCH = "application/merge-patch+json"


async def remove(client: KubeClient, kind: Kind, job: Job) -> None:
    """Delete a job in the foreground and wait until the object and its pods are gone.

    The pods are waited for too, since a new job of the same name would get the same pod names.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    meta = job.metadata
    await client.delete(kind, meta.namespace, meta.name, uid=meta.uid, foreground=True)
    field = f"metadata.name={meta.name}"
    await _gone(client, kind, meta.namespace, Job, {meta.uid}, field_selector=field)
    selector = f"{kind.job_label}={meta.name}"
    pods, _ = await client.list(POD, meta.namespace, Pod, label_selector=selector)
    uids = {pod.metadata.uid for pod in pods}
    await _gone(client, POD, meta.namespace, Pod, uids, label_selector=selector)


async def _gone(
    client: KubeClient,
    kind: Kind,
    namespace: str,
    type_: type[Job] | type[Pod],
    uids: set[str],
    *,
    label_selector: str = "",
    field_selector: str = "",
) -> None:
    """Wait until none of these objects is left."""
    selectors = {"label_selector": label_selector, "field_selector": field_selector}
    async with aclosing(follow(client, kind, namespace, type_, **selectors)) as events:
        async for event in events:
            match event:
                case Snapshot(items):
                    uids &= {item.metadata.uid for item in items}
                case Change("DELETED", item):
                    uids.discard(item.metadata.uid)
                case _:
                    pass
            if not uids:
                return


async def release(client: KubeClient, kind: Kind, job: Job, *, succeeded: bool) -> None:
    """Stop what still runs of a job whose result is known, so that it holds no cards.

    By the operator's own means: Volcano is told to complete or abort the job; a Kubeflow operator
    cleans up a finished job as its cleanPodPolicy says. Where that is refused the job is deleted.

    Raises:
        Rejected, ClusterLost: of the API server, when even the deletion was refused.
    """
    meta = job.metadata
    try:
        if kind == VOLCANO_JOB:
            command = _command(kind, job, "CompleteJob" if succeeded else "AbortJob")
            await client.create(COMMAND, meta.namespace, msgspec.json.encode(command))
        else:
            await patch(client, kind, job, {"spec": {"runPolicy": {"cleanPodPolicy": "Running"}}})
    except Rejected:
        await client.delete(kind, meta.namespace, meta.name, uid=meta.uid)


async def patch(client: KubeClient, kind: Kind, job: Job, change: object) -> None:
    """Merge a change into a job.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    meta = job.metadata
    await client.request(
        Request(
            action=action_of("patch", kind, meta.namespace, meta.name),
            method="PATCH",
            path=path_of(kind, meta.namespace, meta.name),
            body=msgspec.json.encode(change),
            content_type=_MERGE_PATCH,
        )
    )


def _command(kind: Kind, job: Job, action: str) -> Command:
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
        target_object=target,
    )
