"""A watch that goes on after a refusal, as long as it was allowed before."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TypeVar

from dlf.errors import Rejected
from dlf.kube.api_errors import Unavailable
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Change, Snapshot, list_and_watch
from dlf.kube.request import action_of
from dlf.manifest.kinds import Kind

ALLOWED_AFTER_SECONDS = 10.0
"""A watch that lasted longer was allowed: a refusal comes right after the list."""

T = TypeVar("T")


async def watch(
    client: KubeClient,
    kind: Kind,
    namespace: str,
    type_: type[T],
    apply: Callable[[Snapshot[T] | Change[T]], None],
    *,
    label_selector: str = "",
    field_selector: str = "",
) -> None:
    """Follow a collection for ever, as `list_and_watch` does, and give each step to `apply`.

    What the server once allowed and now refuses is tried again: a token is being rotated, a role
    replaced, an authorizer is out of order.

    Raises:
        Rejected: it refused from the start.
        ClusterLost: it failed or refused for the whole outage budget.
    """
    loop = asyncio.get_running_loop()
    allowed = False
    with client.retry(action_of("watch", kind, namespace)) as retry:
        while True:
            steps = list_and_watch(
                client,
                kind,
                namespace,
                type_,
                label_selector=label_selector,
                field_selector=field_selector,
            )
            began = loop.time()
            try:
                async with aclosing(steps):
                    async for step in steps:
                        if isinstance(step, Change):
                            allowed = True
                            retry.succeeded()
                        apply(step)
            except Rejected as error:
                # A watch without changes was allowed, too, if it lasted.
                if loop.time() - began > ALLOWED_AFTER_SECONDS:
                    allowed = True
                    retry.succeeded()
                if not allowed:
                    raise
                await retry.wait(Unavailable(error.message))
