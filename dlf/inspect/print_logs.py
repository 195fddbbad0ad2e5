"""Prints the logs of a job, whoever started it; also when only its pods are left."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from dlf.diagnose.pod_state import has_ended
from dlf.diagnose.roles import Roles, roles_of
from dlf.inspect.lookup import (
    FoundJob,
    find_by_name,
    not_found,
    require_unique,
    served_kinds,
)
from dlf.job.follower import Follower
from dlf.job.job_context import JobContext
from dlf.job.job_pods import Pods
from dlf.job.launcher_pod import LauncherPod
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Snapshot, list_and_watch
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod
from dlf.task.settings import Lifecycle

DRAIN_SECONDS = 30.0
"""How long the last lines are read when the job has ended."""

PRINT_EXISTING_SECONDS = 86400.0
"""How long printing the existing lines may take, without following."""


async def print_logs(
    client: KubeClient,
    namespace: str,
    name: str,
    kind_filter: str,
    open_logs: Callable[[int], Multiplexer],
    *,
    follow_on: bool,
    selector: str,
    notify: Callable[[str], None],
    verbose: Callable[[str], None],
) -> None:
    """Print a job's logs.

    Args:
        client: of the cluster.
        namespace: of the job.
        name: of the job.
        kind_filter: the job's kind, as `--kind` names it, or "".
        open_logs: makes the multiplexer for so many ranks.
        follow_on: follow until the job has ended; else print the existing lines.
        selector: labels that the pods have, too, or "".
        notify: prints a line of dlf's own: there are no logs.
        verbose: prints a line with `--verbose`: the job's progress.

    Raises:
        JobNotFound: there is neither such a job nor a pod of it.
        UsageError: `kind_filter` is no kind, or several kinds have such a job.
    """
    found = await find_by_name(client, namespace, name, kind_filter)
    if not found:
        labels = {kind.job_label for kind in await served_kinds(client, kind_filter)}
        selectors = [_selector(label, name, selector) for label in labels]
        if not await _of_pods(client, namespace, selectors, open_logs(0), follow_on=follow_on):
            raise await not_found(client, namespace, name)
        return
    kind, job = require_unique(found)
    logs = open_logs(roles_of(job).ranks)
    if follow_on and not selector:
        has_pods = await _of_job(client, (kind, job), logs, verbose)
    else:
        selectors = [_selector(kind.job_label, name, selector)]
        has_pods = await _of_pods(
            client, namespace, selectors, logs, follow_on=follow_on, roles=roles_of(job)
        )
    if not has_pods:
        which = f" that match {selector}" if selector else ""
        notify(f"{kind.title} {name} has no pods{which}, so there are no logs")


def _selector(label: str, name: str, more: str) -> str:
    return ",".join(filter(None, (f"{label}={name}", more)))


async def _of_job(
    client: KubeClient, found: FoundJob, logs: Multiplexer, verbose: Callable[[str], None]
) -> bool:
    """The logs of a job until its end; whether it had any pods."""
    kind, job = found
    namespace = job.metadata.namespace
    context = JobContext(
        client=client,
        kind=kind,
        namespace=namespace,
        launcher=LauncherPod(client, namespace, {}),
        lifecycle=Lifecycle(start_timeout=0),
        notify=verbose,
        verbose=verbose,
    )
    try:
        async with Follower(context, job, logs) as follower:
            await follower.end()
            await follower.refresh()
            await logs.drain(DRAIN_SECONDS)
            return any(True for _ in follower.pods)
    finally:
        await logs.aclose()


async def _of_pods(
    client: KubeClient,
    namespace: str,
    selectors: Sequence[str],
    logs: Multiplexer,
    *,
    follow_on: bool,
    roles: Roles | None = None,
) -> bool:
    """The logs of the pods that one of these label selectors matches; whether there are any."""
    try:
        listed = await asyncio.gather(
            *(client.list(POD, namespace, Pod, label_selector=each) for each in selectors)
        )
        pods = Pods(roles or Roles(), logs)
        pods.apply(Snapshot([pod for found, _ in listed for pod in found]))
        if not pods.here:
            return False
        if follow_on:
            for selector, (found, _) in zip(selectors, listed, strict=True):
                if found:
                    await _until_ended(client, namespace, selector, Pods(roles or Roles(), logs))
        await logs.drain(DRAIN_SECONDS if follow_on else PRINT_EXISTING_SECONDS)
        return True
    finally:
        await logs.aclose()


async def _until_ended(client: KubeClient, namespace: str, selector: str, pods: Pods) -> None:
    steps = list_and_watch(client, POD, namespace, Pod, label_selector=selector)
    async with aclosing(steps):
        async for step in steps:
            pods.apply(step)
            if all(map(has_ended, pods.here.values())):
                return
