"""Ending a job from dlf's side: when dlf is stopped, and when the job's result is known."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from dlf.errors import DlfError
from dlf.frameworks import job_state
from dlf.job.follower import Follower
from dlf.job.launcher_pod import Launcher
from dlf.job.remove import ask, cleans_up, gone, patch, release, stays
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.observed import Job

SIGNALLED = 15.0
"""Seconds for a stop by a signal; kubelet kills 30 s after SIGTERM by default."""
EXPIRED = 60.0
"""Seconds for a stop by a time limit: pods that ignore SIGTERM take 30 s to end."""

_LOOK = 5.0  # seconds for one request that matters less
_RELEASE = 20.0  # seconds that the operator gets to begin with stopping what still runs


async def stop(
    mode: str,
    client: KubeClient,
    kind: JobKind,
    job: Job,
    launcher: Launcher,
    say: Callable[[str], None],
    seconds: float,
) -> None:
    """Delete the job, or leave it to the next try, by the rule of `--on_exit`; in bounded time.

    With `auto` it is kept when the cluster takes the launcher's pod away (eviction, preemption,
    node drain): the retry attaches to it. Its owner reference is then removed, since the job would
    go with the pod.
    """
    name = f"{kind.name} {job.metadata.name}"
    reason = ""
    with suppress(DlfError, TimeoutError):  # what cannot be found out does not keep a job
        async with asyncio.timeout(_LOOK):
            reason = await launcher.disruption() if mode == "auto" else ""
    try:
        if mode != "keep" and not reason:
            await delete(client, kind, job, say, seconds)
            return
        say(f"{name} goes on" + (f"; the cluster moves this launcher: {reason}" if reason else ""))
        if job.metadata.owner_references:
            async with asyncio.timeout(_LOOK):
                await patch(client, kind, job, {"metadata": {"ownerReferences": None}})
    except DlfError as error:
        say(f"could not do so to {name}: {error.message}")
    except TimeoutError:
        say(f"{name} may go with this launcher's pod: the API server does not answer")


async def delete(
    client: KubeClient, kind: JobKind, job: Job, say: Callable[[str], None], seconds: float
) -> bool:
    """Delete a job and wait so long until nothing of it is left; whether that came about.

    Raises:
        Rejected, ClusterLost: of the API server.
    """
    name = f"{kind.name} {job.metadata.name}"
    say(f"deleting {name}")
    asked = False
    try:
        async with asyncio.timeout(seconds):
            await ask(client, kind, job)
            asked = True
            await gone(client, kind, job)
    except TimeoutError:
        left = "its pods are still ending" if asked else "it may still run"
        say(f"{name} is not gone after {seconds:.0f} s; {left}")
        return False
    return True


async def stop_rest(
    client: KubeClient,
    kind: JobKind,
    follower: Follower,
    say: Callable[[str], None],
) -> None:
    """Let nothing of a job run on whose result is known; in bounded time.

    What does not work is told: the job's result stands.
    """
    job = follower.job
    over = job_state(job).phase.final
    if not stays(follower.pods.here.values()) or (over and cleans_up(kind, job)):
        return
    why = "its operator does not stop its pods"
    try:
        async with asyncio.timeout(_RELEASE):
            await release(client, kind, job)
            await follower.until_stopping()
            return
    except DlfError as error:
        why = error.message
    except TimeoutError:
        pass
    name = f"{kind.name} {job.metadata.name}"
    say(f"deleting {name}: {why}")
    try:
        async with asyncio.timeout(_RELEASE):
            await ask(client, kind, job)
    except DlfError as error:
        say(f"pods of {name} may still run: {error.message}")
    except TimeoutError:
        say(f"pods of {name} may still run: the API server does not answer")
