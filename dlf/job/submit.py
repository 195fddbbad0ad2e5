"""From a rendered resource to a job that exists: attach to this task's own, or create it."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from dlf.errors import Rejected
from dlf.frameworks import kind_of
from dlf.frameworks.framework import Framework, candidates
from dlf.job.adopt import SPEC_HASH, decide, is_own
from dlf.job.remove import patch, remove
from dlf.kube.client import SUBMISSION_ANNOTATION, KubeClient
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest, to_json
from dlf.manifest.meta import OwnerReference
from dlf.manifest.names import label_value
from dlf.manifest.observed import Job
from dlf.task.settings import TaskSettings

_NO_NAME = "0000"  # stands for the random part, so that the hash is of the rest


async def choose_kind(
    client: KubeClient, framework: Framework, backend: str, say: Callable[[str], None]
) -> JobKind:
    """The first kind of the framework that the cluster serves; a detour is said.

    Raises:
        UsageError: the framework has no kind of this backend.
        Rejected: the cluster serves none of them.
    """
    kinds = candidates(framework, backend)
    for kind in kinds:
        if kind.plural in await client.served_resources(kind.group, kind.version):
            if kind != kinds[0]:
                say(f"the cluster does not serve {_told(kinds[0])}; this is a {_told(kind)}")
            return kind
    wanted = " or ".join(map(_told, kinds))
    raise Rejected(
        f"the cluster does not serve {wanted}",
        "install the operator that does: training-operator, mpi-operator or Volcano",
        status=404,
        reason="NotFound",
    )


def _told(kind: JobKind) -> str:
    return f"{kind.name} ({kind.api_version})"


def spec_hash(framework: Framework, task: TaskSettings, kind: JobKind) -> str:
    """A hash of what would be submitted, the same for the same input whatever the name."""
    return hashlib.sha256(to_json(framework.render(task, kind, _NO_NAME))).hexdigest()[:16]


def stamped(
    manifest: Manifest, annotations: Mapping[str, str], owner: OwnerReference | None
) -> Manifest:
    """The manifest with more annotations and an owner."""
    metadata = msgspec.structs.replace(
        manifest.metadata,
        annotations={**manifest.metadata.annotations, **annotations},
        owner_references=[owner] if owner else [],
    )
    return msgspec.structs.replace(manifest, metadata=metadata)


async def submit(
    client: KubeClient,
    namespace: str,
    manifest: Manifest,
    *,
    task: TaskSettings,
    digest: str,
    nonce: str,
    mode: str,
    owner: OwnerReference | None,
    say: Callable[[str], None],
) -> Job:
    """The job of this task: an earlier one that is still alive, or a new one.

    Args:
        client: of the cluster.
        namespace: of the job.
        manifest: the rendered resource.
        task: the settings it was rendered from; run and task id tell whose job is whose.
        digest: from `spec_hash`.
        nonce: random text by which a repeated create knows its own object.
        mode: of `--on_existing`.
        owner: the launcher's pod, if it is known.
        say: is told what happens.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    kind = kind_of(manifest)
    plan = decide(await _own_jobs(client, kind, namespace, task), mode, digest)
    for job in plan.replace:
        say(f"deleting {kind.name} {job.metadata.name}, an earlier job of this task")
        await remove(client, kind, job)
    if plan.attach:
        say(f"attached to {kind.name} {plan.attach.metadata.name}, which this task started before")
        await _adopt(client, kind, plan.attach, owner)
        return plan.attach
    body = to_json(stamped(manifest, {SPEC_HASH: digest, SUBMISSION_ANNOTATION: nonce}, owner))
    job = msgspec.json.decode(await client.create(kind, namespace, body), type=Job)
    say(f"submitted {kind.name} {job.metadata.name} in namespace {namespace}")
    return job


async def _own_jobs(
    client: KubeClient, kind: JobKind, namespace: str, task: TaskSettings
) -> list[Job]:
    """The jobs that this task started: same run and same task. A task without ids has none."""
    if not task.run_id or not task.task_id:
        return []
    selector = f"run-id={label_value(task.run_id)},task-id={label_value(task.task_id)}"
    jobs, _ = await client.list(kind, namespace, Job, label_selector=selector)
    return [job for job in jobs if is_own(job, task)]


async def _adopt(client: KubeClient, kind: JobKind, job: Job, owner: OwnerReference | None) -> None:
    """Make this launcher's pod the owner in place of that of the try before, which may go."""
    owners = {each.uid for each in job.metadata.owner_references or ()}
    if not owner or owner.uid in owners:
        return
    references = msgspec.to_builtins([owner])
    with suppress(Rejected):  # to be owned is good to have
        await patch(client, kind, job, {"metadata": {"ownerReferences": references}})
