"""The logs of a job that dlf did not start, or of which only the pods are left."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

from dlf.diagnose.pod_state import ended
from dlf.diagnose.roles import ranks, replicas
from dlf.inspect.lookup import Found, missing, named, only, serving
from dlf.job.follower import Follower
from dlf.job.pods import Pods
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Snapshot, list_and_watch
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

_DRAIN = 30.0  # seconds that pods get to end by themselves when the job has ended
_DUMP = 86400.0  # seconds that printing what there is may take


async def show(
    client: KubeClient,
    namespace: str,
    name: str,
    word: str,
    open_logs: Callable[[int], Multiplexer],
    *,
    follow_on: bool,
    detail: Callable[[str], None],
) -> None:
    """Print a job's logs.

    Args:
        client: of the cluster.
        namespace: of the job.
        name: of the job.
        word: its kind, or "".
        open_logs: makes the multiplexer for so many ranks.
        follow_on: until the job has ended; else what there is.
        detail: told of the job's progress.

    Raises:
        Rejected: there is neither such a job nor a pod of it.
        UsageError: `word` is no kind, or several kinds have such a job.
    """
    found = await named(client, namespace, name, word)
    if not found:
        labels = {kind.job_label for kind in await serving(client, word)}
        await _of_pods(client, namespace, name, labels, open_logs(0), follow_on=follow_on)
        return
    kind, job = only(found)
    logs = open_logs(ranks(job))
    if follow_on:
        await _of_job(client, (kind, job), logs, detail)
    else:
        label = {kind.job_label}
        await _of_pods(client, namespace, name, label, logs, follow_on=False, counts=replicas(job))


async def _of_job(
    client: KubeClient, found: Found, logs: Multiplexer, detail: Callable[[str], None]
) -> None:
    kind, job = found
    try:
        async with Follower(
            client, kind, job, lead="", logs=logs, say=detail, detail=detail
        ) as follower:
            await follower.end(start_timeout=0, timeout=0)
            await follower.refresh()
            await logs.drain(_DRAIN)
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
) -> None:
    """The logs of the pods that name this job, by whichever operator's label."""
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
            raise missing(namespace, name)
        if follow_on:
            of = {
                label
                for label in labels
                for pod in pods.here.values()
                if label in (pod.metadata.labels or {})
            }
            for label in of:
                await _until_ended(client, namespace, f"{label}={name}", Pods({}, logs))
        await logs.drain(_DRAIN if follow_on else _DUMP)
    finally:
        await logs.aclose()


async def _until_ended(client: KubeClient, namespace: str, selector: str, pods: Pods) -> None:
    steps = list_and_watch(client, POD, namespace, Pod, label_selector=selector)
    async with aclosing(steps):
        async for step in steps:
            pods.apply(step)
            if all(map(ended, pods.here.values())):
                return
