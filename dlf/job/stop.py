"""Ends a job from dlf's side: when dlf is stopped, and when the job's result is known."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dlf.errors import DlfError
from dlf.frameworks import job_state
from dlf.job.follower import Follower
from dlf.job.job_context import JobContext
from dlf.job.remove import (
    any_running,
    operator_cleans_up,
    patch,
    request_deletion,
    request_pod_stop,
    wait_deleted,
)
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.observed import Job
from dlf.task.scalars import format_duration

OPTIONAL_REQUEST_SECONDS = 5.0
"""How long a stop waits for a request without which it can go on."""

END_TOGETHER_SECONDS = 5.0
"""How long the pods of a job that has ended may take to end by themselves."""

POD_STOP_SECONDS = 20.0
"""How long the operator may take to begin stopping the pods that still run."""


async def stop(context: JobContext, job: Job, seconds: float) -> None:
    """Delete the job, or leave it to the next try, by the rule of `--on_exit`; in bounded time.

    With `auto` it is kept when the cluster removes the launcher's pod (eviction, preemption, node
    drain): the retry attaches to it. Its owner reference is then removed, since the job would be
    deleted with the pod.
    """
    mode, notify = context.lifecycle.on_exit, context.notify
    name = f"{context.kind.title} {job.metadata.name}"
    disruption = ""
    with suppress(DlfError, TimeoutError):  # what cannot be found out does not keep a job
        async with asyncio.timeout(OPTIONAL_REQUEST_SECONDS):
            disruption = await context.launcher.disruption() if mode == "auto" else ""
    try:
        if mode != "keep" and not disruption:
            await delete(context.client, context.kind, job, notify, seconds)
            return
        why = f"; the cluster moves this launcher: {disruption}" if disruption else ""
        notify(f"{name} goes on{why}")
        if job.metadata.owner_references:
            async with asyncio.timeout(OPTIONAL_REQUEST_SECONDS):
                change = {"metadata": {"ownerReferences": None}}
                await patch(context.client, context.kind, job, change)
    except DlfError as error:
        notify(f"{name} could not be stopped or kept as it should: {error.message}")
    except TimeoutError:
        notify(f"{name} may be deleted with this launcher's pod: the API server does not answer")


async def delete(
    client: KubeClient, kind: JobKind, job: Job, notify: Callable[[str], None], seconds: float
) -> bool:
    """Delete a job and wait up to `seconds` until it and its pods are gone; whether they are.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    name = f"{kind.title} {job.metadata.name}"
    notify(f"deleting {name}")
    requested = False
    try:
        async with asyncio.timeout(seconds):
            await request_deletion(client, kind, job)
            requested = True
            await wait_deleted(client, kind, job)
    except TimeoutError:
        left = "its pods are still ending" if requested else "it may still run"
        notify(f"{name} is not gone after {format_duration(seconds)}; {left}")
        return False
    return True


async def end_together(follower: Follower) -> None:
    """Wait shortly for the pods of a job that has ended: most end within seconds of each other.

    The reading of the logs waits only for those that print something.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(END_TOGETHER_SECONDS):
            await follower.until_stopping()


async def stop_remaining_pods(context: JobContext, follower: Follower) -> None:
    """Let no pod run on of a job whose result is known; in bounded time.

    An operator that cleans up by itself gets its time, but the pods show whether it does: Volcano
    leaves pods of a Failed job running that it has lost track of. What fails is reported, and
    does not change the job's result.
    """
    client, kind, job, notify = context.client, context.kind, follower.job, context.notify
    if not any_running(follower.pods.here.values()):
        return
    final = job_state(job).phase.final
    why = "its operator does not stop its pods"
    try:
        async with asyncio.timeout(POD_STOP_SECONDS):
            if not (final and operator_cleans_up(kind, job)):
                await request_pod_stop(client, kind, job)
            await follower.until_stopping()
            return
    except DlfError as error:
        why = error.message
    except TimeoutError:
        pass
    name = f"{kind.title} {job.metadata.name}"
    notify(f"deleting {name}: {why}")
    try:
        async with asyncio.timeout(POD_STOP_SECONDS):
            await request_deletion(client, kind, job)
    except DlfError as error:
        notify(f"pods of {name} may still run: {error.message}")
    except TimeoutError:
        notify(f"pods of {name} may still run: the API server does not answer")
