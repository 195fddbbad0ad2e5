"""Ending a job from dlf's side: when dlf is stopped, and when the job's result is known."""

import asyncio
from collections.abc import Callable

from dlf.errors import DlfError
from dlf.frameworks.phase import verdict
from dlf.job.follower import Follower
from dlf.job.launcher import Launcher
from dlf.job.removal import ask, cleans_up, gone, patch, release, stays
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Job

SIGNALLED = 20.0
"""Seconds for a stop by a signal; kubelet kills 30 s after SIGTERM by default."""
EXPIRED = 60.0
"""Seconds for a stop by a time limit: pods that ignore SIGTERM take 30 s to end."""

_RELEASE = 20.0  # seconds that the operator gets to begin with stopping what still runs


async def stop(
    mode: str,
    client: KubeClient,
    kind: Kind,
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
    asked = False
    try:
        async with asyncio.timeout(seconds):
            reason = await launcher.disruption() if mode == "auto" else ""
            if mode == "keep" or reason:
                why = f"; the cluster moves this launcher: {reason}" if reason else ""
                say(f"{name} goes on{why}")
                if job.metadata.owner_references:
                    await patch(client, kind, job, {"metadata": {"ownerReferences": None}})
                return
            say(f"deleting {name}")
            await ask(client, kind, job)
            asked = True
            await gone(client, kind, job)
    except DlfError as error:
        say(f"{name} may still run: {error.message}")
    except TimeoutError:
        left = "its pods are still ending" if asked else "it may still run"
        say(f"{name} is not gone after {seconds:.0f} s; {left}")


async def stop_rest(
    client: KubeClient,
    kind: Kind,
    follower: Follower,
    say: Callable[[str], None],
) -> None:
    """Let nothing of a job run on whose result is known; in bounded time.

    What does not work is told: the job's result stands.
    """
    job = follower.job
    over = verdict(job).phase.final
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
