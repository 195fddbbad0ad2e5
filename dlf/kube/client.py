"""The Kubernetes API as dlf uses it: one method for each thing it asks.

What the server refuses is `Rejected`. No response, 429 and 5xx are retried; nothing but failures
for the whole outage budget is `ClusterLost`. Only `watch` and `open_log`, whose callers have to
send a different request the next time, try once and raise `Unavailable`.

Longer than other files: it is the list of what dlf asks, and half of it says what each may raise.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from dlf.errors import Rejected
from dlf.kube import pod_exec
from dlf.kube import request as requests
from dlf.kube.api_errors import Action, ObjectNotFound, Unavailable, error_of
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.http import HttpClient, ResponseStream
from dlf.kube.request import LIST_PAGE_SIZE, ApiRequest
from dlf.kube.responses import (
    APIGroup,
    APIResourceList,
    ObjectList,
    ObjectMetadata,
    SelfSubjectAccessReview,
    decode,
)
from dlf.kube.retry import OutageTracker, Retry
from dlf.manifest.kinds import Kind
from dlf.manifest.observed import Status, WatchEvent

T = TypeVar("T")

SUBMISSION_ANNOTATION = "dlf/submission"
"""Annotation by which a create that was sent twice recognises its own object."""


class KubeClient:
    """A client of one API server; an async context manager.

    Every method raises `Rejected` when the server refuses, and `ClusterLost` when the outage budget
    is used up. Their docstrings say what else.

    Args:
        config: from `load_config`.
        outage_budget: seconds for which an operation is retried without a single success.
        notify: called with a message when an outage begins, when it is over, and for what is odd.

    Raises:
        UsageError: a certificate of the configuration cannot be used; and, from any method before
            the first response, the server's certificate or our credential is not usable.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        outage_budget: float = 1800.0,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.notify = notify
        self._http = HttpClient(config)
        self._outages = OutageTracker(
            urlsplit(config.server).netloc or config.server, outage_budget, notify
        )

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

        Safe to repeat when `body` carries the annotation `dlf/submission`: an object that exists
        already with the same annotation is ours, from a try whose response was lost.

        Args:
            kind: of the object.
            namespace: to create it in.
            body: JSON of the object.
            dry_run: let the server validate it and run admission, but store nothing.
            strict: unknown fields are refused.

        Raises:
            Rejected: also for an object of this name that is not ours (409).
        """
        request = requests.create(kind, namespace, body, dry_run=dry_run, strict=strict)
        try:
            return await self.request(request)
        except Rejected as error:
            ours = decode(body, ObjectMetadata).metadata
            nonce = (ours.annotations or {}).get(SUBMISSION_ANNOTATION)
            if error.status != 409 or not nonce:
                raise
            existing = await self.get(kind, namespace, ours.name, msgspec.Raw)
            if existing is None:
                raise
            annotations = decode(existing, ObjectMetadata).metadata.annotations or {}
            if annotations.get(SUBMISSION_ANNOTATION) != nonce:
                raise
            return bytes(existing)

    async def get(self, kind: Kind, namespace: str, name: str, type_: type[T]) -> T | None:
        """One object, or None when there is none of this name.

        Raises:
            Rejected: also when the kind itself is not served (404).
        """
        try:
            return decode(await self.request(requests.get(kind, namespace, name)), type_)
        except ObjectNotFound:
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
        limit = LIST_PAGE_SIZE
        token = ""
        while True:
            request = requests.list_page(
                kind,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                token=token,
            )
            try:
                page = decode(await self.request(request), ObjectList)
            except Rejected as error:
                if error.status != 410 or not token:
                    raise
                # The server has compacted the version of this list away. As client-go's pager
                # does, read everything in one response, to which that cannot happen.
                items.clear()
                limit = 0
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
        """Request an object's deletion.

        Args:
            kind: of the object.
            namespace: it is in.
            name: of the object.
            uid: delete only the object with this uid, not a later one of the same name.
            foreground: the object stays, with a deletionTimestamp, until all it owns is gone.

        Returns:
            False when it was gone already, or has another uid.
        """
        request = requests.delete(kind, namespace, name, uid=uid, foreground=foreground)
        try:
            await self.request(request)
        except ObjectNotFound:
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
            Rejected: the server refused; 410 means that it has compacted this version away.
            Unavailable: no response, 429, 5xx, or the stream broke.
        """
        request = requests.watch(
            kind,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
        )
        async with self._http.stream(request) as stream:
            yield _watch_events(stream, request.action)

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
    ) -> AbstractAsyncContextManager[ResponseStream]:
        """A container's log, as bytes. Tried once.

        With `follow` this waits, without limit, until the container has written something: before
        that the kubelet does not even send the head of its response.

        Args:
            namespace: of the pod.
            pod: its name.
            container: its name.
            since_time: RFC 3339; the kubelet compares whole seconds and includes that second.
            follow: go on until the container ends; the kubelet cuts it after four hours.
            previous: the log of the container's instance before this one.
            timestamps: an RFC 3339 time with nanoseconds and a space before each line.
            tail_lines: only this many lines of what was written before.
            limit_bytes: end after this many bytes.

        Raises:
            Rejected: the server refused; 400 while the container is still being created.
            Unavailable: no response, 429, 5xx (also: the pod's node does not answer).
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

    async def served_resources(self, group: str, version: str) -> frozenset[str]:
        """The plurals that the server serves in a version; empty when it has no such version."""
        served = await self._discover(requests.discovery(group, version), APIResourceList)
        return frozenset(each.name for each in served.resources or () if "/" not in each.name)

    async def served_versions(self, group: str) -> tuple[str, ...]:
        """The versions that the server serves of an API group, the preferred one first."""
        served = await self._discover(requests.discovery(group), APIGroup)
        return tuple(each.version for each in served.versions or ())

    async def is_allowed(
        self, verb: str, kind: Kind | tuple[str, str, str], namespace: str
    ) -> bool:
        """Whether we are allowed to do this, as the server answers (SelfSubjectAccessReview).

        Args:
            verb: such as `create`.
            kind: or (group, plural, subresource) for what has no Kind.
            namespace: "" for what has none.
        """
        group, plural, sub = kind if isinstance(kind, tuple) else (kind.group, kind.plural, "")
        request = requests.access_review(verb, group, plural, sub, namespace)
        return decode(await self.request(request), SelfSubjectAccessReview).status.allowed

    async def exec_output(
        self, namespace: str, pod: str, container: str, command: Sequence[str]
    ) -> tuple[bytes, str]:
        """Run a command in a container; what it printed, and why it failed, or ""."""
        exec_request = pod_exec.request(namespace, pod, container, command)
        with self.retry(exec_request.action) as retry:
            while True:
                try:
                    return await pod_exec.output(self._http, exec_request)
                except Unavailable as failed:
                    await retry.wait(failed)

    async def request(self, request: ApiRequest) -> bytes:
        """Send any request until it has a response, and return the response's body."""
        with self.retry(request.action) as retry:
            while True:
                try:
                    return await self._http.fetch(request)
                except Unavailable as failed:
                    await retry.wait(failed)

    def retry(self, action: Action) -> Retry:
        """The tries of one operation, on this client's outage budget."""
        return Retry(self._outages, action.description)

    async def _discover(self, request: ApiRequest, type_: type[T]) -> T:
        try:
            return decode(await self.request(request), type_)
        except Rejected as error:
            if error.status == 404:
                return type_()
            raise


async def _watch_events(stream: ResponseStream, action: Action) -> AsyncIterator[WatchEvent]:
    async for line in stream.lines():
        event = decode(line, WatchEvent)
        if event.type == "ERROR":
            raise error_of(action, decode(event.object, Status).code or 500, event.object)
        yield event
