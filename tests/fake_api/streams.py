"""The answers that go on: watches and logs."""

import asyncio
import json
from collections.abc import Callable

from fake_api.http_server import ConnectionDropped, Reply, Request
from fake_api.logs import Cut, Logs, first_row, render
from fake_api.request_info import RequestInfo
from fake_api.selectors import matcher
from fake_api.store import Collection, Object, StatusError, Store, Watch

Split = Callable[[bytes], list[bytes]]


async def watch(
    request: Request,
    reply: Reply,
    info: RequestInfo,
    store: Store,
    split: Split,
    bookmark_seconds: float,
) -> None:
    """Stream the events of a collection until `timeoutSeconds` are over."""
    query = request.query
    since = query.get("resourceVersion", "")
    opened = store.watch(
        info.collection,
        matcher(query.get("labelSelector", ""), query.get("fieldSelector", "")),
        int(since) if since not in ("", "0") else None,
    )
    bookmarks = query.get("allowWatchBookmarks") in ("true", "1", "True")
    try:
        await reply.start("application/json")
        async with asyncio.timeout(float(query.get("timeoutSeconds") or 1800)):
            while event := await _next(opened, store, bookmark_seconds if bookmarks else None):
                for piece in split(json.dumps(event, ensure_ascii=False).encode() + b"\n"):
                    await reply.chunk(piece)
    except TimeoutError:
        pass
    finally:
        store.watches.discard(opened)
    await reply.end()


async def _next(opened: Watch, store: Store, bookmark_seconds: float | None) -> Object | None:
    try:
        async with asyncio.timeout(bookmark_seconds):
            return await opened.events.get()
    except TimeoutError:
        return bookmark(store)


def bookmark(store: Store) -> Object:
    """Everything up to here has been sent, or stands in the queue before this."""
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(store.version)}}}


async def log(
    request: Request, reply: Reply, info: RequestInfo, store: Store, logs: Logs, split: Split
) -> None:
    """Stream a container's log. As from a kubelet, the head comes with the first byte."""
    query = request.query
    namespace, pod = info.collection.namespace, info.name
    obj = store.get(Collection("", "pods", namespace), pod)
    container = query.get("container") or obj["spec"]["containers"][0]["name"]
    previous = query.get("previous") == "true"
    found = logs.find(namespace, pod, container, previous=previous)
    if found is None:
        raise StatusError(400, "BadRequest", _no_log(pod, container, previous=previous))
    tail = int(query["tailLines"]) if "tailLines" in query else None
    first = first_row(found, query.get("sinceTime", ""), tail)
    left = int(query["limitBytes"]) if "limitBytes" in query else None
    cut = found.cuts.popleft() if found.cuts else None
    is_followed = query.get("follow") == "true"
    body = _Body(reply, split, cut, left)
    error = found.read_error or (found.follow_error if is_followed else b"")
    until = None if is_followed and not error else len(found.rows)
    if found.read_error:
        first = len(found.rows)
    async for rows in found.follow(first, until):
        if not await body.write(render(rows, timestamps=query.get("timestamps") == "true")):
            return
    if error and not await body.write(error):
        return
    await body.end()


def _no_log(pod: str, container: str, *, previous: bool) -> str:
    if previous:
        return f'previous terminated container "{container}" in pod "{pod}" not found'
    return f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating'


class _Body:
    """The body of a log, with its limit and its cut."""

    def __init__(self, reply: Reply, split: Split, cut: Cut | None, left: int | None) -> None:
        self._reply = reply
        self._split = split
        self._cut = cut
        self._left = min(
            (n for n in (left, cut.after if cut else None) if n is not None), default=None
        )

    async def write(self, content: bytes) -> bool:
        """Send, and say whether more may follow."""
        if not self._reply.started:
            await self._reply.start("text/plain")
        enough = self._left is not None and len(content) >= self._left
        if self._left is not None:
            content = content[: self._left]
            self._left -= len(content)
        for piece in self._split(content):
            await self._reply.chunk(piece)
        if enough:
            await self.end()
        return not enough

    async def end(self) -> None:
        if not self._reply.started:
            await self._reply.start("text/plain")
        if self._cut and not self._cut.clean and not self._left:
            raise ConnectionDropped
        await self._reply.end()
