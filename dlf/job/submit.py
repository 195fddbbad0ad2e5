"""From a rendered resource to a job that exists: attach to this task's own, or create it."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from dlf.errors import Rejected
from dlf.frameworks.framework import Framework, candidates
from dlf.job.adopt import SPEC_HASH, is_own, plan_adoption
from dlf.job.job_context import JobContext
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
    client: KubeClient, framework: Framework, backend: str, notify: Callable[[str], None]
) -> JobKind:
    """The first kind of the framework that the cluster serves; says so if it is not the preferred.

    Raises:
        UsageError: the framework has no kind of this backend.
        Rejected: the cluster serves none of them.
    """
    kinds = candidates(framework, backend)
    for kind in kinds:
        if kind.plural in await client.served_resources(kind.group, kind.version):
            if kind != kinds[0]:
                preferred = _served_as(kinds[0])
                notify(f"the cluster does not serve {preferred}; this is a {_served_as(kind)}")
            return kind
    wanted = " or ".join(map(_served_as, kinds))
    raise Rejected(
        f"the cluster does not serve {wanted}",
        "install the operator that does: training-operator, mpi-operator or Volcano",
        status=404,
        reason="NotFound",
    )


def _served_as(kind: JobKind) -> str:
    return f"{kind.name} ({kind.api_version})"


def spec_hash(framework: Framework, task: TaskSettings, kind: JobKind) -> str:
    """A hash of what would be submitted, the same for the same input whatever the name."""
    return hashlib.sha256(to_json(framework.manifest(task, kind, _NO_NAME))).hexdigest()[:16]


def annotated(
    manifest: Manifest, annotations: Mapping[str, str], owner: OwnerReference | None
) -> Manifest:
    """The manifest with more annotations and an owner."""
    metadata = msgspec.structs.replace(
        manifest.metadata,
        annotations={**manifest.metadata.annotations, **annotations},
        owner_references=[owner] if owner else [],
    )
    return msgspec.structs.replace(manifest, metadata=metadata)


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What to submit.

    Attributes:
        manifest: the rendered resource.
        task: the settings it was rendered from; run and task id tell whose job is whose.
        spec_hash: from `spec_hash`.
        nonce: random text by which a repeated create recognises its own object.
    """

    manifest: Manifest
    task: TaskSettings
    spec_hash: str
    nonce: str


async def submit(context: JobContext, submission: Submission) -> Job:
    """The job of this task: an earlier one that is still alive, or a new one.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    client, kind, limits = context.client, context.kind, context.lifecycle
    owner = None if limits.no_owner else await context.launcher.owner()
    if context.launcher.problem:
        context.notify(
            f"this launcher's own pod cannot be read: {context.launcher.problem}; so the job has no"
            " owner: it runs on when that pod is deleted, and is deleted when that pod is evicted"
        )
    own = await _own_jobs(context, submission.task)
    plan = plan_adoption(own, limits.on_existing, submission.spec_hash)
    for job in plan.replace:
        name = f"{kind.title} {job.metadata.name}, an earlier job of this task"
        is_leaving = job.metadata.deletion_timestamp
        context.notify(f"waiting until {name}, is gone" if is_leaving else f"deleting {name}")
        await remove(client, kind, job)
    if plan.attach:
        name = f"{kind.title} {plan.attach.metadata.name}"
        context.notify(f"attached to {name}, which this task started before")
        await _adopt(context, plan.attach, owner)
        return plan.attach
    annotations = {SPEC_HASH: submission.spec_hash, SUBMISSION_ANNOTATION: submission.nonce}
    body = to_json(annotated(submission.manifest, annotations, owner))
    job = msgspec.json.decode(await client.create(kind, context.namespace, body), type=Job)
    context.notify(f"submitted {kind.title} {job.metadata.name} in namespace {context.namespace}")
    return job


async def _own_jobs(context: JobContext, task: TaskSettings) -> list[Job]:
    """The jobs that this task started: same run and same task. A task without ids has none."""
    if not task.run_id or not task.task_id:
        return []
    selector = f"run-id={label_value(task.run_id)},task-id={label_value(task.task_id)}"
    jobs, _ = await context.client.list(
        context.kind, context.namespace, Job, label_selector=selector
    )
    return [job for job in jobs if is_own(job, task)]


async def _adopt(context: JobContext, job: Job, owner: OwnerReference | None) -> None:
    """Make this launcher's pod the owner in place of the last try's, which may be deleted."""
    owners = {each.uid for each in job.metadata.owner_references or ()}
    if not owner or owner.uid in owners:
        return
    references = msgspec.to_builtins([owner])
    change = {"metadata": {"ownerReferences": references}}
    with suppress(Rejected):  # the job runs without an owner, too
        await patch(context.client, context.kind, job, change)
