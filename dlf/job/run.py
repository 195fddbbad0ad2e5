"""One training job on Kubernetes: submit, follow, drain, decide, clean up."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from dlf.diagnose.roles import ranks
from dlf.errors import DlfError, ExitCode, Rejected
from dlf.frameworks.framework import Framework
from dlf.job.ending import End
from dlf.job.follower import Follower
from dlf.job.launcher_pod import Launcher
from dlf.job.stop import EXPIRED, SIGNALLED, stop, stop_rest
from dlf.job.submit import choose_kind, spec_hash, submit
from dlf.job.summary import decide, with_logs
from dlf.kube.client import SUBMISSION_ANNOTATION, KubeClient
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest, to_json
from dlf.manifest.observed import Job
from dlf.outcome.outcome import Outcome
from dlf.task.settings import Lifecycle, TaskSettings

_DRAIN = 30.0  # seconds that pods get to end by themselves when the job's result is known
_DRAIN_STOPPED = 5.0  # the same when they are being stopped
_LOOK = 5.0  # seconds to find out, when stopped, whether the create arrived


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        framework: that renders it.
        task: the framework's settings.
        namespace: of the job.
        backend: `auto`, `kubeflow` or `volcano`.
        suffix: four random hexadecimal digits, the end of the job's name.
        nonce: random text of this submission.
        lifecycle: earlier jobs, stops, time limits.
    """

    framework: Framework
    task: TaskSettings
    namespace: str
    backend: str
    suffix: str
    nonce: str
    lifecycle: Lifecycle


async def run(
    request: Request,
    client: KubeClient,
    open_logs: Callable[[int], Multiplexer],
    env: Mapping[str, str],
    say: Callable[[str], None],
    detail: Callable[[str], None],
) -> Outcome:
    """Run the job to its end.

    Args:
        request: what to run.
        client: of the cluster.
        open_logs: makes the multiplexer for a job with this many ranks.
        env: of this process.
        say: told what the user should know.
        detail: told what only `--verbose` shows.

    Cancelling it stops the job by the rule of `--on_exit`, in bounded time, and is raised again.

    Raises:
        Rejected, ClusterLost: the API server refused, or was out of reach for too long; the job,
            if there is one by then, goes on.
    """
    limits = request.lifecycle
    launcher = Launcher(client, request.namespace, env)
    kind = await choose_kind(client, request.framework, request.backend, say)
    manifest = request.framework.render(request.task, kind, request.suffix)
    logs = open_logs(ranks(msgspec.json.decode(to_json(manifest), type=Job)))
    job: Job | None = None
    try:
        async with asyncio.timeout(_first(limits.start_timeout, limits.timeout)):
            job = await submit(
                client,
                request.namespace,
                manifest,
                task=request.task,
                digest=spec_hash(request.framework, request.task, kind),
                nonce=request.nonce,
                mode=limits.on_existing,
                owner=None if limits.no_owner else await launcher.owner(),
                say=say,
            )
        outcome = await _follow(request, client, kind, job, launcher, logs, say, detail)
    except TimeoutError:
        job = await _submitted(request, client, kind, manifest)
        if job:
            await stop(limits.on_exit, client, kind, job, launcher, say, EXPIRED)
        outcome = Outcome(
            code=ExitCode.TIMEOUT,
            job=f"{kind.name} {manifest.metadata.name}",
            phase="could not be submitted in time",
            reason="an earlier job of this task, or one of its pods, does not go away",
        )
    except asyncio.CancelledError:
        # Until 3.11.4, Python takes no time limit for one in a task that is being cancelled.
        task = asyncio.current_task()
        if task:
            task.uncancel()
        # The create may have arrived although its answer did not.
        job = job or await _submitted(request, client, kind, manifest)
        if job:
            await stop(limits.on_exit, client, kind, job, launcher, say, SIGNALLED)
        raise
    finally:
        await logs.aclose()
    return with_logs(outcome, logs)


def _first(*limits: float) -> float | None:
    """The shorter of two time limits, of which 0 is none."""
    return min((limit for limit in limits if limit), default=None)


async def _submitted(
    request: Request, client: KubeClient, kind: JobKind, manifest: Manifest
) -> Job | None:
    """The job of this very submission, if the API server has it."""
    try:
        async with asyncio.timeout(_LOOK):
            job = await client.get(kind, request.namespace, manifest.metadata.name, Job)
    except (DlfError, TimeoutError):
        return None
    ours = job and (job.metadata.annotations or {}).get(SUBMISSION_ANNOTATION) == request.nonce
    return job if ours else None


async def _follow(
    request: Request,
    client: KubeClient,
    kind: JobKind,
    job: Job,
    launcher: Launcher,
    logs: Multiplexer,
    say: Callable[[str], None],
    detail: Callable[[str], None],
) -> Outcome:
    limits, lead = request.lifecycle, request.framework.leader
    async with Follower(
        client, kind, job, lead=lead, logs=logs, say=say, detail=detail
    ) as follower:
        try:
            ending = await follower.end(start_timeout=limits.start_timeout, timeout=limits.timeout)
        except Rejected:  # dlf may not follow it, so nobody does
            await stop(limits.on_exit, client, kind, job, launcher, say, EXPIRED)
            raise
        known = ending.end in {End.FINAL, End.DELETED}
        if known:
            await follower.refresh()
        # The result is known; what the pods still have to say is not yet printed.
        await logs.drain(_DRAIN if known else _DRAIN_STOPPED)
        outcome = decide(ending, kind, follower, logs, strict=limits.strict)
        if ending.end is End.FINAL:
            await stop_rest(client, kind, follower, say)
        elif ending.end is not End.DELETED:
            await stop(limits.on_exit, client, kind, follower.job, launcher, say, EXPIRED)
            await logs.drain(_DRAIN_STOPPED)
        return outcome
