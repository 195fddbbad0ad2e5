"""The httpx transport for one API server: a pool for requests, for each log its own connection."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any, Self

import httpcore
import httpx

from dlf.kube.connect import KEEPALIVE, SocketBackend

_CONNECTING = 32
"""Connections to logs that are being made at a time. A thousand handshakes at once would all take
as long as all together, and none be done when the first runs out of time."""
_IDLE = 10  # connections kept open for the next request
_IDLE_SECONDS = 60.0


def make_transport(context: ssl.SSLContext, proxy: str) -> httpx.AsyncHTTPTransport:
    """A transport with any number of connections; over our own sockets, if there is no proxy.

    Args:
        context: verifies the server; made here so that httpx loads no authorities of its own.
        proxy: URL of a proxy, or "".
    """
    transport = httpx.AsyncHTTPTransport(
        verify=context,
        trust_env=False,
        proxy=_proxy(proxy, context) if proxy else None,
        limits=httpx.Limits(max_keepalive_connections=_IDLE, keepalive_expiry=_IDLE_SECONDS),
        socket_options=KEEPALIVE,
    )
    if not proxy:
        # httpx has no argument for this: its transport is a pool and a mapping of exceptions.
        transport._pool = _Connections(context)  # type: ignore[assignment]  # noqa: SLF001
    return transport


class _Connections:
    """A pool for requests that leaves logs out; an `httpcore.AsyncConnectionPool` to httpx.

    At each request and answer a pool looks through all its connections, again for each that
    waits: a thousand open logs would cost it many seconds. No log's connection is used again.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        backend: Any = SocketBackend()
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=_IDLE,
            keepalive_expiry=_IDLE_SECONDS,
            socket_options=KEEPALIVE,
            network_backend=backend,
        )
        self._context = context
        self._backend = backend
        self._connecting = asyncio.Semaphore(_CONNECTING)

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._pool.__aexit__(*exception)

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        if not request.url.target.partition(b"?")[0].endswith(b"/log"):
            return await self._pool.handle_async_request(request)
        connection = httpcore.AsyncHTTPConnection(
            origin=request.url.origin,
            ssl_context=self._context,
            socket_options=KEEPALIVE,
            network_backend=self._backend,
        )
        await self._connecting.acquire()
        with ExitStack() as turn:
            turn.callback(self._connecting.release)

            async def trace(event: str, _: object) -> None:
                if event == "http11.send_request_headers.started":
                    turn.close()  # the answer may take hours

            request.extensions = {**request.extensions, "trace": trace}
            try:
                response = await connection.handle_async_request(request)
            except BaseException:
                await connection.aclose()
                raise
        return httpcore.Response(
            response.status,
            headers=response.headers,
            content=_Body(response, connection),
            extensions=response.extensions,
        )


class _Body:
    """The body of an answer; its end is the end of the connection."""

    def __init__(
        self, response: httpcore.Response, connection: httpcore.AsyncHTTPConnection
    ) -> None:
        self._response = response
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()
        await self._connection.aclose()


def _proxy(url: str, context: ssl.SSLContext) -> httpx.Proxy:
    # Of an http:// proxy httpx refuses a context; for an https:// one it would load its own.
    return httpx.Proxy(url, ssl_context=context if url.startswith("https:") else None)
