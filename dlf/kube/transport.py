"""The httpx transport for one API server: connections are made, kept for the next request, retired.

A pool that looks through all its connections at each request, as httpcore's does, costs many
seconds with a thousand open logs. This one holds the idle ones only.
"""

import asyncio
import ssl
from dataclasses import dataclass
from functools import partial

import h11
import httpx

from dlf.kube.connect import connect, proxy_authorization
from dlf.kube.http1 import Body, exchange_heads
from dlf.kube.sockets import SocketStream

TAKES_TURNS = "dlf.takes_turns"
"""Request extension: this is one of very many requests, such as for a log. Only so many of them
connect at a time, and all other requests go before them."""

BULK = "dlf.bulk"
"""Request extension: nobody waits for any one piece of the response's body."""

BODY = "dlf.body"
"""Response extension: the response's `Body`."""

_MAX_HANDSHAKES = 32
"""Handshakes of requests that take turns. A thousand at once would all take as long as all
together, and none be done when the first runs out of time."""

_MAX_IDLE = 32  # connections kept for the next request
_MAX_IDLE_SECONDS = 60.0


@dataclass(slots=True)
class _Idle:
    stream: SocketStream
    since: float


class Transport(httpx.AsyncBaseTransport):
    """Connections to one server.

    Args:
        server: its URL.
        context: for TLS.
        proxy: URL of an HTTP or HTTPS proxy, or "".
        tls_server_name: that the server's certificate must be for; "" for the URL's host.
    """

    def __init__(
        self, server: str, context: ssl.SSLContext, proxy: str = "", tls_server_name: str = ""
    ) -> None:
        self._server = httpx.URL(server)
        self._proxy = httpx.URL(proxy) if proxy else None
        self._tls_server_name = tls_server_name
        self._context = context
        self._idle: list[_Idle] = []
        self._turns = asyncio.Semaphore(_MAX_HANDSHAKES)

    def use_context(self, context: ssl.SSLContext) -> None:
        """Connect with this from now on; connections made with another serve no more requests."""
        self._context = context
        self._close_idle()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:  # type: ignore[explicit-override]
        """Send a request and return its response, with the body still to come.

        Raises:
            ProxyError: see there.
            httpx.RemoteProtocolError: the response is not HTTP.
            TimeoutError, EOFError, OSError: there is no connection, or it broke.
        """
        content = await request.aread()
        while (stream := self._take_idle()) is not None:
            try:
                return await self._send(stream, self._context, request, content)
            except (EOFError, ConnectionError):
                # The server closed it while we sent. What it may have done must not be repeated.
                if request.method != "GET":
                    raise
        if TAKES_TURNS in request.extensions:
            async with self._turns:
                stream, context = await self._connect()
        else:
            stream, context = await self._connect()
        return await self._send(stream, context, request, content)

    async def aclose(self) -> None:  # type: ignore[explicit-override]
        """Close the idle connections; a response closes its own."""
        self._close_idle()

    async def _connect(self) -> tuple[SocketStream, ssl.SSLContext]:
        context = self._context
        return await connect(self._server, self._proxy, context, self._tls_server_name), context

    async def _send(
        self, stream: SocketStream, context: ssl.SSLContext, request: httpx.Request, content: bytes
    ) -> httpx.Response:
        timeout = request.extensions["timeout"]["read"]
        try:
            async with asyncio.timeout(timeout):
                response, early = await exchange_heads(stream, self._head(request), content)
        except TimeoutError as error:
            stream.close()
            if timeout is None:  # the kernel's own, of a peer that vanished
                raise
            raise TimeoutError(f"no response in {timeout:.0f} s") from error
        except BaseException:
            stream.close()
            raise
        bulk = BULK in request.extensions
        release = partial(self._release, stream, context)
        body = Body(stream, response, early, timeout, bulk, release)
        return httpx.Response(
            response.status_code,
            headers=[(bytes(name), bytes(value)) for name, value in response.headers],
            stream=body,
            extensions={BODY: body},
        )

    def _head(self, request: httpx.Request) -> h11.Request:
        headers = request.headers.raw
        target = request.url.raw_path
        if self._proxy and self._server.scheme == "http":
            target = str(request.url).encode("ascii")
            headers = headers + httpx.Headers(proxy_authorization(self._proxy)).raw
        return h11.Request(method=request.method, target=target, headers=headers)

    def _take_idle(self) -> SocketStream | None:
        """A connection that was not closed since it was used last, the most recent one first."""
        oldest = asyncio.get_running_loop().time() - _MAX_IDLE_SECONDS
        while self._idle:
            idle = self._idle.pop()
            if idle.since >= oldest and not idle.stream.is_readable():
                return idle.stream
            idle.stream.close()
        return None

    def _release(self, stream: SocketStream, context: ssl.SSLContext, reusable: bool) -> None:
        if not reusable or context is not self._context or len(self._idle) >= _MAX_IDLE:
            stream.close()
            return
        self._idle.append(_Idle(stream, asyncio.get_running_loop().time()))

    def _close_idle(self) -> None:
        for idle in self._idle:
            idle.stream.close()
        self._idle.clear()
