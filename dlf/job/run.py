"""Runs one training job on Kubernetes: submit, follow, drain the logs, summarize, clean up."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from dlf.diagnose.pod_state import has_started
from dlf.diagnose.roles import roles_of
from dlf.errors import DlfError, Rejected
from dlf.frameworks.framework import Framework
from dlf.job.ending import DRAIN_STOPPED_SECONDS, RULES, Cause, CleanUp
from dlf.job.evicted_pods import read_evictions
from dlf.job.follower import Follower
from dlf.job.job_context import JobContext
from dlf.job.launcher_pod import LauncherPod
from dlf.job.stop import end_together, stop, stop_remaining_pods
from dlf.job.submit import Submission, choose_kind, spec_hash, submit
from dlf.job.summary import summarize, with_logs
from dlf.kube.client import SUBMISSION_ANNOTATION, KubeClient
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.manifest import to_json
from dlf.manifest.observed import Job
from dlf.outcome.outcome import Outcome
from dlf.task.settings import Lifecycle, TaskSettings

FIND_SUBMITTED_SECONDS = 5.0
"""How long dlf, when it is stopped, looks for the job whose creation was not answered."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
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
    request: RunRequest,
    client: KubeClient,
    open_logs: Callable[[int], Multiplexer],
    env: Mapping[str, str],
    notify: Callable[[str], None],
    verbose: Callable[[str], None],
    show_status: Callable[[str], None] | None = None,
) -> Outcome:
    """Run the job to its end.

    Args:
        request: what to run.
        client: of the cluster.
        open_logs: makes the multiplexer for a job with this many ranks.
        env: of this process.
        notify: prints a line for the user.
        verbose: prints a line with `--verbose`.
        show_status: shows a line at the bottom of the terminal; None where there is none.

    Cancelling it stops the job by the rule of `--on_exit`, in bounded time, and is raised again.

    Raises:
        Rejected, ClusterLost: the API server refused, or was out of reach for too long; the job,
            if there is one by then, goes on.
    """
    context, submission = await _prepare(request, client, env, notify, verbose, show_status)
    logs = open_logs(roles_of(msgspec.json.decode(to_json(submission.manifest), type=Job)).ranks)
    job: Job | None = None
    try:
        job = await _submit_in_time(context, submission)
        if job:
            outcome = await _follow(context, job, logs)
        else:
            await _stop_submitted(context, submission, Cause.NOT_SUBMITTED)
            outcome = _not_submitted(context, submission)
    except asyncio.CancelledError:
        # Until 3.11.4, Python takes no time limit for one in a task that is being cancelled.
        task = asyncio.current_task()
        if task:
            task.uncancel()
        if job:
            await stop(context, job, RULES[Cause.SIGNAL].stop_seconds)
        else:
            await _stop_submitted(context, submission, Cause.SIGNAL)
        raise
    finally:
        await logs.aclose()
    return with_logs(outcome, logs)


async def detach(
    request: RunRequest,
    client: KubeClient,
    env: Mapping[str, str],
    notify: Callable[[str], None],
    verbose: Callable[[str], None],
) -> Job:
    """Submit the job, or find the earlier one that is attached to; nobody follows it.

    It has no owner: it is to outlive this process and its pod. The arguments are those of `run`.

    Raises:
        Rejected, ClusterLost: of the API server.
        UsageError: the task cannot be rendered.
    """
    limits = msgspec.structs.replace(request.lifecycle, no_owner=True)
    request = msgspec.structs.replace(request, lifecycle=limits)
    return await submit(*await _prepare(request, client, env, notify, verbose))


async def _prepare(
    request: RunRequest,
    client: KubeClient,
    env: Mapping[str, str],
    notify: Callable[[str], None],
    verbose: Callable[[str], None],
    show_status: Callable[[str], None] | None = None,
) -> tuple[JobContext, Submission]:
    kind = await choose_kind(client, request.framework, request.backend, notify)
    context = JobContext(
        client=client,
        kind=kind,
        namespace=request.namespace,
        launcher=LauncherPod(client, request.namespace, env),
        lifecycle=request.lifecycle,
        leader=request.framework.leader,
        notify=notify,
        verbose=verbose,
        show_status=show_status,
    )
    submission = Submission(
        manifest=request.framework.manifest(request.task, kind, request.suffix),
        task=request.task,
        spec_hash=spec_hash(request.framework, request.task, kind),
        nonce=request.nonce,
    )
    return context, submission


async def _submit_in_time(context: JobContext, submission: Submission) -> Job | None:
    """The submitted job, or None when a time limit is over before."""
    limits = context.lifecycle
    limit = min(filter(None, (limits.start_timeout, limits.timeout)), default=None)
    try:
        async with asyncio.timeout(limit):
            return await submit(context, submission)
    except TimeoutError:
        return None


async def _stop_submitted(context: JobContext, submission: Submission, cause: Cause) -> None:
    """Stop the job of this submission, if it was created although its creation was not answered."""
    job = None
    try:
        async with asyncio.timeout(FIND_SUBMITTED_SECONDS):
            name = submission.manifest.metadata.name
            job = await context.client.get(context.kind, context.namespace, name, Job)
    except (DlfError, TimeoutError):
        return
    if job and (job.metadata.annotations or {}).get(SUBMISSION_ANNOTATION) == submission.nonce:
        await stop(context, job, RULES[cause].stop_seconds)


def _not_submitted(context: JobContext, submission: Submission) -> Outcome:
    rule = RULES[Cause.NOT_SUBMITTED]
    return Outcome(
        code=rule.exit_code,
        job=f"{context.kind.title} {submission.manifest.metadata.name}",
        phase=rule.phrase(context.lifecycle),
        reason="an earlier job of this task, or one of its pods, is not gone yet",
    )


async def _follow(context: JobContext, job: Job, logs: Multiplexer) -> Outcome:
    async with Follower(context, job, logs) as follower:
        try:
            ending = await follower.end()
        except Rejected:  # dlf may not follow it, so nobody would see its end
            await stop(context, job, RULES[Cause.NOT_ALLOWED].stop_seconds)
            raise
        rule = ending.rule
        if rule.clean_up is not CleanUp.BY_ON_EXIT:
            await follower.refresh()
        if rule.clean_up is CleanUp.STOP_PODS:
            await end_together(follower)
        # The result is known; the last lines of the pods are not yet printed.
        await logs.drain(rule.drain_seconds)
        pods, pulled = follower.pods, follower.reasons.pulled
        evictions, _ = await asyncio.gather(
            read_evictions(context.client, follower.job.metadata, pods, context.verbose),
            pulled.complete(pod.metadata.uid for pod in pods if has_started(pod)),
        )
        pods.mark_evicted(evictions)
        outcome = summarize(context, ending, follower.job, pods, logs, pulled.times)
        if rule.clean_up is CleanUp.STOP_PODS:
            await stop_remaining_pods(context, follower)
        elif rule.clean_up is CleanUp.BY_ON_EXIT:
            await stop(context, follower.job, rule.stop_seconds)
            await logs.drain(DRAIN_STOPPED_SECONDS)
        return outcome
