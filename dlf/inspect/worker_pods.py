"""Reads from the worker in each running pod of a job what its processes do."""

import asyncio
from collections.abc import Callable

import msgspec

from dlf.diagnose.roles import roles_of
from dlf.errors import Rejected
from dlf.inspect.lookup import get_one
from dlf.inspect.stack_report import ProcessState
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

_MAX_REQUESTS = 32
"""Pods that are asked at the same time."""


async def read_process_states(
    client: KubeClient,
    namespace: str,
    name: str,
    kind_filter: str,
    notify: Callable[[str], None],
) -> dict[str, list[ProcessState]]:
    """Pod to its processes, in the order of ranks.

    Args:
        client: of the cluster.
        namespace: of the job.
        name: of the job.
        kind_filter: the job's kind, as `--kind` names it, or "".
        notify: prints which pods cannot be asked, and why.

    Raises:
        JobNotFound: there is no such job.
        Rejected: its pods may not be read.
    """
    kind, job = await get_one(client, namespace, name, kind_filter)
    selector = f"{kind.job_label}={name}"
    pods, _ = await client.list(POD, namespace, Pod, label_selector=selector)
    roles = roles_of(job)
    pods.sort(key=lambda pod: (roles.identify(pod).rank or 0, pod.metadata.name))
    places = asyncio.Semaphore(_MAX_REQUESTS)

    async def one(pod: Pod) -> list[ProcessState] | None:
        async with places:
            try:
                return await _ask(client, namespace, pod)
            except _NoAnswer as error:
                notify(f"pod {pod.metadata.name}: {error}")
                return None

    answers = await asyncio.gather(*map(one, pods))
    return {
        pod.metadata.name: answer
        for pod, answer in zip(pods, answers, strict=True)
        if answer is not None
    }


class _NoAnswer(Exception):
    """A pod that cannot be asked; the text says why."""


async def _ask(client: KubeClient, namespace: str, pod: Pod) -> list[ProcessState]:
    if pod.status.phase != "Running":
        raise _NoAnswer(f"it is {pod.status.phase}")
    workers = {
        container.name: container.command[0]
        for container in pod.spec.containers or ()
        if (container.command or [])[1:2] == ["worker"] and container.command
    }
    if not workers:
        raise _NoAnswer("it has no worker: submit the job with --stacks")
    (container, program), *_ = workers.items()
    words = [program, "stacks", "--here"]
    try:
        printed, reason = await client.exec_output(namespace, pod.metadata.name, container, words)
    except Rejected as error:
        if error.status == 403:
            raise
        raise _NoAnswer(error.message) from None
    if reason:
        raise _NoAnswer(reason)
    try:
        return msgspec.json.decode(printed, type=list[ProcessState])
    except msgspec.DecodeError:
        raise _NoAnswer("its answer is not one of dlf") from None
