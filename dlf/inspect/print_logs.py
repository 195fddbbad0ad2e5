"""Prints the logs of a job, whoever started it; also when only its pods are left."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

from dlf.diagnose.pod_state import has_ended
from dlf.diagnose.roles import ranks, replicas
from dlf.inspect.lookup import (
    FoundJob,
    find_by_name,
    not_found,
    require_unique,
    served_kinds,
)
from dlf.job.context import JobContext
from dlf.job.follower import Follower
from dlf.job.launcher_pod import LauncherPod
from dlf.job.pods import Pods
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
        notify: prints a line of dlf's own: there are no logs.
        verbose: prints a line with `--verbose`: the job's progress.

    Raises:
        JobNotFound: there is neither such a job nor a pod of it.
        UsageError: `kind_filter` is no kind, or several kinds have such a job.
    """
    found = await find_by_name(client, namespace, name, kind_filter)
    if not found:
        labels = {kind.job_label for kind in await served_kinds(client, kind_filter)}
        logs = open_logs(0)
        if not await _of_pods(client, namespace, name, labels, logs, follow_on=follow_on):
            raise await not_found(client, namespace, name)
        return
    kind, job = require_unique(found)
    logs = open_logs(ranks(job))
    if follow_on:
        has_pods = await _of_job(client, (kind, job), logs, verbose)
    else:
        label = {kind.job_label}
        has_pods = await _of_pods(
            client, namespace, name, label, logs, follow_on=False, counts=replicas(job)
        )
    if not has_pods:
        notify(f"{kind.title} {name} has no pods, so there are no logs")


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
    name: str,
    labels: set[str],
    logs: Multiplexer,
    *,
    follow_on: bool,
    counts: Mapping[str, int] | None = None,
) -> bool:
    """The logs of the pods that carry the job's name in one of these labels; whether any do."""
    try:
        listed = await asyncio.gather(
            *(
                client.list(POD, namespace, Pod, label_selector=f"{label}={name}")
                for label in labels
            )
        )
        pods = Pods(counts or {}, logs)
        pods.apply(Snapshot([pod for found, _ in listed for pod in found]))
        if not pods.here:
            return False
        if follow_on:
            of = {
                label
                for label in labels
                for pod in pods.here.values()
                if label in (pod.metadata.labels or {})
            }
            for label in of:
                await _until_ended(client, namespace, f"{label}={name}", Pods({}, logs))
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
