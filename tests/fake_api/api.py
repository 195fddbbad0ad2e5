"""The API server of the tests: who may ask, what goes wrong, and who answers."""

import asyncio
import json
import ssl
from typing import Any, Self

from fake_api import streams
from fake_api.faults import Fault, Faults
from fake_api.http_server import ConnectionDropped, HttpServer, Reply, Request
from fake_api.logs import Logs
from fake_api.objects import Objects, review
from fake_api.request_info import RequestInfo, request_info
from fake_api.resources import RESOURCES, discover
from fake_api.store import Collection, Object, StatusError, Store, Watch, group_resource


class FakeApi:
    """An API server on 127.0.0.1; an async context manager.

    Attributes:
        store: the objects.
        logs: of the containers.
        faults: what is still to go wrong; see `fail`.
        requests: every request so far, oldest first.
        tokens: the bearer tokens that are accepted; empty when nobody has to say who they are.
        client_name: of the client certificate that is accepted; "" when none is asked for.
        denied: (verb, resource) pairs that are forbidden: ("create", "tfjobs.kubeflow.org").
        resources: what is served; take entries away to be an older or emptier cluster.
        bookmark_seconds: between two bookmarks of a quiet watch. A real server sends one a minute;
            that many make a day on the virtual clock long.
        split: how the body of a log or watch is cut into HTTP chunks.
        server: the sockets; `server.stop()` and `server.start()` are a server that is away.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.store = Store()
        self.logs = Logs(self.store.now)
        self.faults = Faults()
        self.requests: list[Request] = []
        self.tokens: set[str] = set()
        self.client_name = ""
        self.denied: set[tuple[str, str]] = set()
        self.resources = {key: dict(value) for key, value in RESOURCES.items()}
        self.bookmark_seconds = 240.0
        self.split: streams.Split = lambda content: [content]
        self.server = HttpServer(self._handle, tls)
        self._objects = Objects(self.store)

    async def __aenter__(self) -> Self:
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()

    @property
    def url(self) -> str:
        return self.server.url

    def collection(self, plural: str, namespace: str) -> Collection:
        """The collection of a plural, in whichever group has it first."""
        group = next(group for (group, _), plurals in self.resources.items() if plural in plurals)
        return Collection(group, plural, namespace)

    def fail(self, **what: Any) -> Fault:
        """Let something go wrong; the arguments are those of `Fault`."""
        return self.faults.add(Fault(**what))

    def send_event(self, type_: str, obj: Object, plural: str = "") -> None:
        """Send an event on every open watch (of a plural) that no change of an object caused."""
        for watch in self._watches(plural):
            watch.events.put_nowait({"type": type_, "object": obj})

    def send_bookmark(self, plural: str = "") -> None:
        """Send a bookmark on every open watch (of a plural)."""
        for watch in self._watches(plural):
            watch.events.put_nowait(streams.bookmark(self.store))

    def end_watches(self, plural: str = "") -> None:
        """End every open watch (of a plural) cleanly."""
        for watch in self._watches(plural):
            watch.events.put_nowait(None)

    def expire_watches(self, plural: str = "") -> None:
        """Forget the history, and say so on every open watch (of a plural)."""
        self.store.compact()
        self.send_event("ERROR", status(410, "Expired", "too old resource version"), plural)
        self.end_watches(plural)

    def expire_pages(self) -> None:
        """Forget every list that somebody is reading in pages."""
        self._objects.pages.clear()

    def _watches(self, plural: str) -> list[Watch]:
        return [w for w in self.store.watches if plural in ("", w.collection.plural)]

    async def _handle(self, request: Request, reply: Reply) -> None:
        self.requests.append(request)
        info = request_info(request)
        verb = info.verb if info else "get"
        query = "&".join(f"{key}={value}" for key, value in request.query.items())
        fault = self.faults.take(verb, f"{request.path}?{query}")
        try:
            if fault and not fault.done_first:
                await _apply_fault(fault, reply)
                return
            self._authenticate(request)
            if verb == "watch" and info:
                self._authorize(info)
                await streams.watch(
                    request, reply, info, self.store, self.split, self.bookmark_seconds
                )
            elif verb == "log" and info:
                self._authorize(info)
                await streams.log(request, reply, info, self.store, self.logs, self.split)
            else:
                code, document = self._answer(request, info)
                if fault:
                    await _apply_fault(fault, reply)
                else:
                    await _send(reply, code, document)
        except StatusError as no:
            await _send(reply, no.status, status(no.status, no.reason, str(no), **no.details))

    def _authenticate(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if self.client_name not in ("", request.client_name):
            raise StatusError(401, "Unauthorized", "Unauthorized")
        if self.tokens and (scheme != "Bearer" or token not in self.tokens):
            raise StatusError(401, "Unauthorized", "Unauthorized")

    def _authorize(self, info: RequestInfo) -> None:
        verb = "get" if info.verb == "log" else info.verb
        plural = "/".join(part for part in (info.collection.plural, info.sub) if part)
        full = ".".join(part for part in (plural, info.collection.group) if part)
        if (verb, full) in self.denied:
            raise StatusError(
                403,
                "Forbidden",
                f'{group_resource(info.collection)} is forbidden: User "system:serviceaccount:'
                f'ml:launcher" cannot {verb} resource "{plural}" in API group '
                f'"{info.collection.group}" in the namespace "{info.collection.namespace}"',
            )

    def _answer(self, request: Request, info: RequestInfo | None) -> tuple[int, Object]:
        if info is None:
            return 200, discover(self.resources, request.path)
        key = (info.collection.group, info.version)
        kind = self.resources.get(key, {}).get(info.collection.plural)
        if kind is None:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if kind == "SelfSubjectAccessReview":
            return review(request, self.denied)
        self._authorize(info)
        return self._objects.answer(request, info, kind)


async def _apply_fault(fault: Fault, reply: Reply) -> None:
    if fault.stall:
        await asyncio.Event().wait()
    if fault.close:
        raise ConnectionDropped
    headers = dict(fault.headers or {})
    if fault.retry_after is not None:
        headers["Retry-After"] = str(fault.retry_after)
    if fault.body is None:
        await _send(reply, fault.status, status(fault.status, "", fault.message), headers)
    else:
        await reply.send(fault.status, fault.body, {"Content-Type": "text/plain"} | headers)


async def _send(
    reply: Reply, code: int, document: Object, headers: dict[str, str] | None = None
) -> None:
    body = json.dumps(document).encode()
    await reply.send(code, body, {"Content-Type": "application/json"} | (headers or {}))


def status(code: int, reason: str, message: str, **details: Any) -> Object:
    """metav1.Status of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }
