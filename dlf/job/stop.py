"""What becomes of the job when dlf has to stop before it: the rule of `--on_exit`."""

import asyncio
from collections.abc import Callable

from dlf.errors import DlfError
from dlf.job.launcher import Launcher
from dlf.job.removal import patch, remove
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Job

_TIME = 20.0  # seconds for all of it; kubelet kills 30 s after SIGTERM by default


async def stop(
    mode: str,
    client: KubeClient,
    kind: Kind,
    job: Job,
    launcher: Launcher,
    say: Callable[[str], None],
) -> None:
    """Delete the job, or leave it to the next try.

    With `auto` it is kept when the cluster takes the launcher's pod away (eviction, preemption,
    node drain): the retry attaches to it. Its owner reference is then removed, since the job would
    go with the pod.
    """
    name = f"{kind.name} {job.metadata.name}"
    try:
        async with asyncio.timeout(_TIME):
            reason = await launcher.disrupted() if mode == "auto" else ""
            if mode == "keep" or reason:
                why = f"; the cluster moves this launcher: {reason}" if reason else ""
                say(f"{name} goes on{why}")
                if job.metadata.owner_references:
                    await patch(client, kind, job, {"metadata": {"ownerReferences": None}})
            else:
                say(f"deleting {name}")
                await remove(client, kind, job)
    except DlfError as error:
        say(f"could not clean up {name}: {error}; it may still run")
    except TimeoutError:
        say(f"{name} is not gone after {_TIME:.0f} s; it may still run")
