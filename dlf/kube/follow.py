"""Follow a collection for ever: a snapshot, then its changes, whatever happens on the way."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Generic, Literal, TypeVar

import msgspec

from dlf.errors import Rejected
from dlf.kube.answers import Object, decode
from dlf.kube.client import KubeClient
from dlf.kube.cursor import SETTLED, WatchCursor
from dlf.kube.outage import Retry
from dlf.kube.refusal import Unavailable
from dlf.kube.request import action_of
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import WatchEvent

T = TypeVar("T")

CHANGES = ("ADDED", "MODIFIED", "DELETED")

SHORTEST, LONGEST = 300, 600
"""Seconds for which one WATCH request may run; random, so that watches do not end together."""


class Snapshot(msgspec.Struct, Generic[T], frozen=True):
    """Everything there is now. It replaces what the consumer holds: what is not in it is gone."""

    items: list[T]


class Change(msgspec.Struct, Generic[T], frozen=True):
    """One object changed. The same change may come twice; none is left out."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


async def follow(
    client: KubeClient,
    kind: Kind,
    namespace: str,
    type_: type[T],
    *,
    label_selector: str = "",
    field_selector: str = "",
) -> AsyncGenerator[Snapshot[T] | Change[T], None]:
    """Give the collection as it is, then every change of it, for ever.

    Promised: after a snapshot and the changes since, the consumer knows the latest state.
    Not promised: every state in between. A new snapshot may come at any time.

    Args:
        client: to ask with; its outage budget holds here.
        kind: of the objects.
        namespace: they are in.
        type_: to decode them to.
        label_selector: which of them, by label.
        field_selector: which of them, by field.

    Raises:
        Rejected: the server said no.
        ClusterLost: nothing but failures for the whole outage budget.
    """
    cursor = WatchCursor()
    selectors = {"label_selector": label_selector, "field_selector": field_selector}
    unknown: set[str] = set()
    with client.retry(action_of("watch", kind, namespace)) as retry:
        while True:
            if not cursor.version:
                items, version = await client.list(kind, namespace, type_, **selectors)
                cursor.listed(version)
                yield Snapshot(items)
            watch = client.watch(
                kind,
                namespace,
                resource_version=cursor.version,
                timeout_seconds=random.randint(SHORTEST, LONGEST),  # noqa: S311 no secret
                **selectors,
            )
            async with aclosing(_events(watch, cursor, retry)) as events:
                async for event in events:
                    match event.type:
                        case "ADDED" | "MODIFIED" | "DELETED":
                            yield Change(event.type, decode(event.object, type_))
                        case _ if event.type not in unknown:
                            unknown.add(event.type)
                            client.notice(f"watch of {kind.plural}: unknown event `{event.type}`")
                        case _:
                            pass


async def _events(
    watch: AbstractAsyncContextManager[AsyncIterator[WatchEvent]], cursor: WatchCursor, retry: Retry
) -> AsyncGenerator[WatchEvent, None]:
    """The events of one WATCH that may concern the consumer.

    How it ended is told to the cursor, and the pause that this calls for is made here.
    """
    loop = asyncio.get_running_loop()
    opened: float | None = None
    failure = Unavailable("the server ends the watch at once")
    try:
        async with watch as events:
            opened = loop.time()
            settled = loop.call_later(SETTLED, retry.worked)
            try:
                async for event in events:
                    if event.type == "BOOKMARK":
                        cursor.bookmark(_version(event))
                        continue
                    if event.type in CHANGES:
                        cursor.event(_version(event))
                        retry.worked()
                    yield event
            finally:
                settled.cancel()
        cursor.ended(loop.time() - opened)
    except Unavailable as error:
        failure = error
        cursor.failed(0.0 if opened is None else loop.time() - opened, error.retry_after)
    except Rejected as error:
        if error.status != 410:
            raise
        failure = Unavailable(error.message)
        cursor.gone()
    if cursor.failures:
        await retry.wait(failure, cursor.wait)


def _version(event: WatchEvent) -> str:
    return decode(event.object, Object).metadata.resource_version
