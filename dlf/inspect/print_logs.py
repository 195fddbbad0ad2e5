"""Prints the logs of jobs, whoever started them; also when only their pods are left."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

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
"""How long the last lines are read when a job has ended."""

PRINT_EXISTING_SECONDS = 86400.0
"""How long printing the existing lines may take, without following."""


class _Found(NamedTuple):
    """What is there of one job: the job, or only pods that its labels select."""

    name: str
    job: FoundJob | None
    selectors: list[str]
    roles: Roles


async def print_logs(
    client: KubeClient,
    namespace: str,
    names: Sequence[str],
    kind_filter: str,
    open_logs: Callable[[], Multiplexer],
    *,
    follow_on: bool,
    selector: str,
    check_ranks: Callable[[int], None],
    notify: Callable[[str], None],
    verbose: Callable[[str], None],
) -> None:
    """Print the logs of jobs as one stream.

    Args:
        client: of the cluster.
        namespace: of the jobs.
        names: of the jobs.
        kind_filter: the jobs' kind, as `--kind` names it, or "".
        open_logs: makes the multiplexer that prints them all.
        follow_on: follow until the last of the jobs has ended; else print the existing lines.
        selector: labels that the pods have, too, or "".
        check_ranks: called with each job's number of ranks.
        notify: prints a line of dlf's own: there are no logs.
        verbose: prints a line with `--verbose`: the jobs' progress.

    Raises:
        JobNotFound: there is neither such a job nor a pod of it; then nothing is printed.
        UsageError: `kind_filter` is no kind, or several kinds have such a job.
    """
    jobs = [await _find(client, namespace, name, kind_filter, selector) for name in names]
    for each in jobs:
        check_ranks(each.roles.ranks)
    logs = open_logs()

    async def one(found: _Found) -> None:
        if found.job and follow_on and not selector:
            has_pods = await _of_job(client, found.job, logs, verbose)
        else:
            has_pods = await _of_pods(client, namespace, found, logs, follow_on=follow_on)
        if found.job and not has_pods:
            which = f" that match {selector}" if selector else ""
            title = found.job[0].title
            notify(f"{title} {found.name} has no pods{which}, so there are no logs")

    try:
        await _all(map(one, jobs))
    finally:
        await logs.aclose()


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all at the same time; the first error ends the others."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _find(
    client: KubeClient, namespace: str, name: str, kind_filter: str, selector: str
) -> _Found:
    found = await find_by_name(client, namespace, name, kind_filter)
    if found:
        kind, job = require_unique(found)
        return _Found(name, (kind, job), [_selector(kind.job_label, name, selector)], roles_of(job))
    labels = {kind.job_label for kind in await served_kinds(client, kind_filter)}
    selectors = [_selector(label, name, selector) for label in labels]
    if not any(await _list_pods(client, namespace, selectors)):
        raise await not_found(client, namespace, name)
    return _Found(name, None, selectors, Roles())


def _selector(label: str, name: str, more: str) -> str:
    return ",".join(filter(None, (f"{label}={name}", more)))


async def _list_pods(
    client: KubeClient, namespace: str, selectors: Sequence[str]
) -> list[list[Pod]]:
    """The pods that each of the label selectors matches."""
    listed = await asyncio.gather(
        *(client.list(POD, namespace, Pod, label_selector=each) for each in selectors)
    )
    return [pods for pods, _ in listed]


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
    async with Follower(context, job, logs) as follower:
        await follower.end()
        await follower.refresh()
        await logs.drain(DRAIN_SECONDS)
        return any(True for _ in follower.pods)


async def _of_pods(
    client: KubeClient, namespace: str, found: _Found, logs: Multiplexer, *, follow_on: bool
) -> bool:
    """The logs of the pods that a job's selectors match; whether there are any."""
    listed = await _list_pods(client, namespace, found.selectors)
    pods = Pods(found.roles, logs)
    pods.apply(Snapshot([pod for matched in listed for pod in matched]))
    if not pods.here:
        return False
    if follow_on:
        for selector, matched in zip(found.selectors, listed, strict=True):
            if matched:
                await _until_ended(client, namespace, selector, Pods(found.roles, logs))
    await logs.drain(DRAIN_SECONDS if follow_on else PRINT_EXISTING_SECONDS)
    return True


async def _until_ended(client: KubeClient, namespace: str, selector: str, pods: Pods) -> None:
    steps = list_and_watch(client, POD, namespace, Pod, label_selector=selector)
    async with aclosing(steps):
        async for step in steps:
            pods.apply(step)
            if all(map(has_ended, pods.here.values())):
                return
