"""Keep up with a collection by LIST and WATCH, as client-go's Reflector does."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Generic, Literal, TypeVar

import msgspec

from dlf.errors import Rejected
from dlf.kube.api_errors import Unavailable
from dlf.kube.client import KubeClient
from dlf.kube.request import action_of
from dlf.kube.responses import ObjectMetadata, decode
from dlf.kube.retry import Retry
from dlf.kube.watch_state import MIN_WATCH_SECONDS, WatchState
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import WatchEvent

T = TypeVar("T")

CHANGE_TYPES = ("ADDED", "MODIFIED", "DELETED")

WATCH_TIMEOUT_SECONDS = (300, 600)
"""Range of a WATCH request's timeout; random, so that watches do not all end together."""


class Snapshot(msgspec.Struct, Generic[T], frozen=True):
    """All objects that exist now. Objects that the consumer has and this has not were deleted."""

    items: list[T]


class Change(msgspec.Struct, Generic[T], frozen=True):
    """One object changed. A change may be repeated; none is left out."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: T


async def list_and_watch(
    client: KubeClient,
    kind: Kind,
    namespace: str,
    type_: type[T],
    *,
    label_selector: str = "",
    field_selector: str = "",
) -> AsyncGenerator[Snapshot[T] | Change[T], None]:
    """Yield the collection as it is, then every change of it, without end.

    After a snapshot and the changes since, the consumer knows the latest state. It may not see
    every state in between. A new snapshot may come at any time.

    Args:
        client: its outage budget holds here.
        kind: of the objects.
        namespace: they are in.
        type_: to decode them to.
        label_selector: selects among them.
        field_selector: selects among them.

    Raises:
        Rejected: the server refused.
        ClusterLost: nothing but failures for the whole outage budget.
    """
    state = WatchState()
    selectors = {"label_selector": label_selector, "field_selector": field_selector}
    unknown: set[str] = set()
    with client.retry(action_of("watch", kind, namespace)) as retry:
        while True:
            if not state.resource_version:
                items, version = await client.list(kind, namespace, type_, **selectors)
                state.on_list(version)
                yield Snapshot(items)
            watch = client.watch(
                kind,
                namespace,
                resource_version=state.resource_version,
                timeout_seconds=random.randint(*WATCH_TIMEOUT_SECONDS),  # noqa: S311 no secret
                **selectors,
            )
            async with aclosing(_events(watch, state, retry)) as events:
                async for event in events:
                    match event.type:
                        case "ADDED" | "MODIFIED" | "DELETED":
                            yield Change(event.type, decode(event.object, type_))
                        case _ if event.type not in unknown:
                            unknown.add(event.type)
                            client.notify(f"watch of {kind.plural}: unknown event `{event.type}`")
                        case _:
                            pass


async def _events(
    watch: AbstractAsyncContextManager[AsyncIterator[WatchEvent]], state: WatchState, retry: Retry
) -> AsyncGenerator[WatchEvent, None]:
    """The events of one WATCH request, without bookmarks.

    Tells `state` how the request ended, and waits as long as `state` then says.
    """
    loop = asyncio.get_running_loop()
    opened: float | None = None
    failure = Unavailable("the server ends the watch at once")
    try:
        async with watch as events:
            opened = loop.time()
            established = loop.call_later(MIN_WATCH_SECONDS, retry.succeeded)
            try:
                async for event in events:
                    if event.type == "BOOKMARK":
                        state.on_bookmark(_version(event))
                        continue
                    if event.type in CHANGE_TYPES:
                        state.on_event(_version(event))
                        retry.succeeded()
                    yield event
            finally:
                established.cancel()
        state.on_end(loop.time() - opened)
    except Unavailable as error:
        failure = error
        state.on_failure(0.0 if opened is None else loop.time() - opened, error.retry_after)
    except Rejected as error:
        if error.status != 410:
            raise
        failure = Unavailable(error.message)
        state.on_gone()
    if state.failures:
        await retry.wait(failure, state.delay_seconds)


def _version(event: WatchEvent) -> str:
    return decode(event.object, ObjectMetadata).metadata.resource_version
