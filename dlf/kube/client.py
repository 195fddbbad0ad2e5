"""The Kubernetes API as dlf uses it: one method for each thing it asks.

Refusals are `Rejected`. No answer, 429 and 5xx are tried again until nothing but failures came
back for the whole outage budget; then it is `ClusterLost`. Only `watch` and `open_log`, whose
callers have to ask differently the next time, try once and raise `Unavailable`.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from dlf.errors import Rejected
from dlf.kube import request as requests
from dlf.kube.answers import Discovery, Object, Page, Review, decode
from dlf.kube.config import ClusterConfig
from dlf.kube.http import Http, Stream
from dlf.kube.outage import Outage, Retry
from dlf.kube.refusal import Action, ObjectMissing, Unavailable, failure
from dlf.kube.request import Request
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Status, WatchEvent

T = TypeVar("T")

NONCE = "dlf/submission"
"""Annotation by which a create that was sent twice recognises its own object."""


class KubeClient:
    """A client of one API server; an async context manager.

    Every method raises `Rejected` when the server says no, and `ClusterLost` when the outage budget
    is used up; theirs say what else.

    Args:
        config: from `load_config`.
        outage: seconds for which an operation is tried again without a single success.
        notice: told once when an outage begins, once when it is over, and of what is odd.

    Raises:
        UsageError: a certificate of the configuration cannot be used; and, from any method before
            the first answer, the server's certificate or our credential is of no use.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        outage: float = 1800.0,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.notice = notice
        self._http = Http(config)
        self._outage = Outage(outage, notice)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def create(
        self,
        kind: Kind,
        namespace: str,
        body: bytes,
        *,
        dry_run: bool = False,
        strict: bool = True,
    ) -> bytes:
        """Create an object and return it as the server stored it.

        Safe to repeat when `body` carries the annotation `dlf/submission`: an object that is
        already there with the same annotation is ours, from a try whose answer was lost.

        Args:
            kind: of the object.
            namespace: to create it in.
            body: JSON of the object.
            dry_run: let the server validate it and run admission, but store nothing.
            strict: unknown fields are refused.

        Raises:
            Rejected: also for an object of this name that is not ours (409).
        """
        ask = requests.create(kind, namespace, body, dry_run=dry_run, strict=strict)
        try:
            return await self.request(ask)
        except Rejected as error:
            ours = decode(body, Object).metadata
            nonce = (ours.annotations or {}).get(NONCE)
            if error.status != 409 or not nonce:
                raise
            there = await self.get(kind, namespace, ours.name, msgspec.Raw)
            if there is None:
                raise
            found = decode(there, Object).metadata.annotations or {}
            if found.get(NONCE) != nonce:
                raise
            return bytes(there)

    async def get(self, kind: Kind, namespace: str, name: str, type_: type[T]) -> T | None:
        """One object, or None when there is none of this name.

        Raises:
            Rejected: also when the kind itself is not served (404).
        """
        try:
            return decode(await self.request(requests.get(kind, namespace, name)), type_)
        except ObjectMissing:
            return None

    async def list(
        self,
        kind: Kind,
        namespace: str,
        type_: type[T],
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> tuple[list[T], str]:
        """All objects that match, and the resourceVersion from which to watch them."""
        items: list[T] = []
        token = ""
        while True:
            ask = requests.list_page(
                kind,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                token=token,
            )
            try:
                page = decode(await self.request(ask), Page)
            except Rejected as error:
                if error.status != 410 or not token:
                    raise
                # The server has forgotten the list that we were reading: read it from the start.
                items.clear()
                token = ""
                continue
            items += [decode(item, type_) for item in page.items or ()]
            token = page.metadata.continue_ or ""
            if not token:
                return items, page.metadata.resource_version

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        foreground: bool = False,
    ) -> bool:
        """Ask for an object's deletion.

        Args:
            kind: of the object.
            namespace: it is in.
            name: of the object.
            uid: delete this very object, not a successor of the same name.
            foreground: the object stays, with a deletionTimestamp, until all it owns is gone.

        Returns:
            False when it was gone already, or has another uid.
        """
        ask = requests.delete(kind, namespace, name, uid=uid, foreground=foreground)
        try:
            await self.request(ask)
        except ObjectMissing:
            return False
        except Rejected as error:
            if error.status == 409 and uid:
                return False
            raise
        return True

    @asynccontextmanager
    async def watch(
        self,
        kind: Kind,
        namespace: str,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str,
        timeout_seconds: int,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """The events of one WATCH request, until the server ends it. Tried once.

        An ERROR event raises what the same HTTP status would.

        Raises:
            Rejected: the server said no; 410 means that it has forgotten this version.
            Unavailable: no answer, 429, 5xx, or the stream broke.
        """
        ask = requests.watch(
            kind,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
        )
        async with self._http.stream(ask) as stream:
            yield _watch_events(stream, ask.action)

    def open_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        since_time: str = "",
        follow: bool = True,
        previous: bool = False,
        timestamps: bool = True,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
    ) -> AbstractAsyncContextManager[Stream]:
        """A container's log, as bytes. Tried once.

        With `follow` this waits, without limit, until the container has written something: the
        kubelet sends not even the head of its answer before.

        Args:
            namespace: of the pod.
            pod: its name.
            container: its name.
            since_time: RFC 3339; the kubelet looks at whole seconds and includes that second.
            follow: go on until the container ends; the kubelet cuts it after four hours.
            previous: the log of the container's instance before this one.
            timestamps: an RFC 3339 time with nanoseconds and a space before each line.
            tail_lines: only this many lines of what is there already.
            limit_bytes: end after this many bytes.

        Raises:
            Rejected: the server said no; 400 while the container is still being created.
            Unavailable: no answer, 429, 5xx (also: the pod's node does not answer).
        """
        return self._http.stream(
            requests.log(
                namespace,
                pod,
                container,
                since_time=since_time,
                follow=follow,
                previous=previous,
                timestamps=timestamps,
                tail_lines=tail_lines,
                limit_bytes=limit_bytes,
            )
        )

    async def served(self, group: str, version: str) -> frozenset[str]:
        """The plurals that the server serves in a version; empty when it has no such version."""
        found = await self._discover(requests.discovery(group, version))
        return frozenset(each.name for each in found.resources or () if "/" not in each.name)

    async def served_versions(self, group: str) -> tuple[str, ...]:
        """The versions that the server serves of an API group, the preferred one first."""
        found = await self._discover(requests.discovery(group))
        return tuple(each.version for each in found.versions or ())

    async def allowed(self, verb: str, kind: Kind | tuple[str, str, str], namespace: str) -> bool:
        """Whether we may do this, by the server's own verdict (SelfSubjectAccessReview).

        Args:
            verb: such as `create`.
            kind: or (group, plural, subresource) for what has no Kind.
            namespace: "" for what has none.
        """
        group, plural, sub = kind if isinstance(kind, tuple) else (kind.group, kind.plural, "")
        ask = requests.access_review(verb, group, plural, sub, namespace)
        return decode(await self.request(ask), Review).status.allowed

    async def request(self, request: Request) -> bytes:
        """Send any request until it has an answer, and return that answer's body."""
        with self.retry(request.action) as retry:
            while True:
                try:
                    return await self._http.fetch(request)
                except Unavailable as failed:
                    await retry.wait(failed)

    def retry(self, action: Action) -> Retry:
        """The tries of one operation, on this client's outage budget."""
        return Retry(self._outage, action.words)

    async def _discover(self, ask: Request) -> Discovery:
        try:
            return decode(await self.request(ask), Discovery)
        except Rejected as error:
            if error.status == 404:
                return Discovery()
            raise


async def _watch_events(stream: Stream, action: Action) -> AsyncIterator[WatchEvent]:
    async for line in stream.lines():
        event = decode(line, WatchEvent)
        if event.type == "ERROR":
            raise failure(action, decode(event.object, Status).code or 500, event.object)
        yield event
