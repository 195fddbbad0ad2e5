"""How a connection to the API server is made: TCP, perhaps through a proxy, then TLS."""

import asyncio
import base64
import ipaddress
import socket
import ssl
from typing import Any

import h11
import httpx

from dlf.kube.http1 import exchange_heads
from dlf.kube.sockets import SocketStream

CONNECT_TIMEOUT_SECONDS = 10.0
"""For all of it. Short: trying again is better than waiting."""

_KEEPALIVE = (
    # A peer that vanished is noticed after a minute, however long a read may take.
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)


class ProxyError(Exception):
    """The proxy refuses to connect us, or no TLS connection to it is possible."""


async def connect(
    server: httpx.URL,
    proxy: httpx.URL | None,
    context: ssl.SSLContext,
    tls_server_name: str,
) -> SocketStream:
    """Connect to the server, ready for a request.

    Args:
        server: its URL.
        proxy: URL of an HTTP or HTTPS proxy. A server without TLS needs no tunnel through it: its
            requests are sent to the proxy itself, with their whole URL.
        context: for TLS to the server, and to an HTTPS proxy, as kubectl does.
        tls_server_name: that the server's certificate must be for; "" for the URL's host.

    Raises:
        TimeoutError: it took too long.
        ProxyError: see there.
        OSError: there is no connection; ssl.SSLError is one.
    """
    stream = None
    first = proxy or server
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            stream = await connect_tcp(first.host, _port(first), CONNECT_TIMEOUT_SECONDS)
            if proxy and proxy.scheme == "https":
                await _tls_to_proxy(stream, proxy, context)
            if proxy and server.scheme == "https":
                await _open_tunnel(stream, proxy, server)
            if server.scheme == "https":
                await stream.start_tls(context, tls_server_name or server.host)
            return stream
    except TimeoutError as error:
        if stream:
            stream.close()
        seconds = f"{CONNECT_TIMEOUT_SECONDS:.0f} s"
        raise TimeoutError(f"no connection to {first.netloc.decode()} in {seconds}") from error
    except BaseException:
        if stream:
            stream.close()
        raise


async def connect_tcp(host: str, port: int, timeout: float) -> SocketStream:
    """Connect to the first of the host's addresses that answers.

    Args:
        host: name or address.
        port: of it.
        timeout: seconds for all addresses, divided among them: one address that drops packets
            must not use up the time of all.

    Raises:
        TimeoutError, OSError: none did.
    """
    loop = asyncio.get_running_loop()
    addresses = await _resolve(host, port)
    failure: Exception = OSError(f"no address of {host}")
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            for option in _KEEPALIVE:
                sock.setsockopt(*option)
            async with asyncio.timeout(timeout / len(addresses)):
                await loop.sock_connect(sock, address)
        except (OSError, TimeoutError) as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return SocketStream(sock)
    raise failure


def proxy_authorization(proxy: httpx.URL) -> dict[str, str]:
    """The header that carries user name and password of the proxy's URL, if it has them."""
    if not (proxy.username or proxy.password):
        return {}
    pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    return {"Proxy-Authorization": f"Basic {pair}"}


async def _tls_to_proxy(stream: SocketStream, proxy: httpx.URL, context: ssl.SSLContext) -> None:
    try:
        await stream.start_tls(context, proxy.host)
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or error
        raise ProxyError(f"no TLS connection to the proxy {_shown(proxy)}: {why}") from error


async def _open_tunnel(stream: SocketStream, proxy: httpx.URL, server: httpx.URL) -> None:
    host = f"[{server.host}]" if ":" in server.host else server.host
    authority = f"{host}:{_port(server)}"
    headers = {"Host": authority, **proxy_authorization(proxy)}
    request = h11.Request(method="CONNECT", target=authority, headers=list(headers.items()))
    response, early = await exchange_heads(stream, request)
    if response.status_code // 100 != 2:
        reason = bytes(response.reason).decode("latin-1")
        raise ProxyError(
            f"the proxy {_shown(proxy)} does not connect to {authority}: "
            f"HTTP {response.status_code} {reason}".rstrip()
        )
    if early:
        raise ProxyError(f"the proxy {_shown(proxy)} sent data before it was asked to")


def _shown(proxy: httpx.URL) -> str:
    """The URL without its password."""
    return f"{proxy.scheme}://{proxy.netloc.decode()}"


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def _resolve(host: str, port: int) -> list[tuple[int, Any]]:
    """Families and addresses of a host; without a thread when it is an address itself."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
        return [(family, address) for family, _, _, _, address in infos]
    return [(socket.AF_INET if version == 4 else socket.AF_INET6, (host, port))]
