"""The httpx transport for one API server."""

import ssl

import httpcore
import httpx

from dlf.kube.sockets import KEEPALIVE, SocketBackend

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
        # httpx has no argument for the network backend; its transport is a pool and a mapping.
        transport._pool = httpcore.AsyncConnectionPool(  # noqa: SLF001
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=_IDLE,
            keepalive_expiry=_IDLE_SECONDS,
            socket_options=KEEPALIVE,
            network_backend=SocketBackend(),  # type: ignore[arg-type]
        )
    return transport


def _proxy(url: str, context: ssl.SSLContext) -> httpx.Proxy:
    # Of an http:// proxy httpx refuses a context; for an https:// one it would load its own.
    return httpx.Proxy(url, ssl_context=context if url.startswith("https:") else None)
