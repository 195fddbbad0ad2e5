"""How connections are made."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import httpcore

from dlf.kube.sockets import SocketStream, mapped

# A peer that vanished without a word is noticed after a minute, however long a read may take.
KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)


class SocketBackend:
    """Makes the connections of a pool; an `httpcore.AsyncNetworkBackend` in all but ancestry."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> SocketStream:
        """Connect to the first of the host's addresses that answers.

        Raises:
            httpcore.ConnectError, httpcore.ConnectTimeout: none did.
        """
        loop = asyncio.get_running_loop()
        with mapped(httpcore.ConnectError, httpcore.ConnectTimeout):
            async with asyncio.timeout(timeout):
                addresses = await _resolve(host, port)
                failure: Exception = OSError(f"no address of {host}")
                for index, (family, address) in enumerate(addresses):
                    sock = socket.socket(family, socket.SOCK_STREAM)
                    try:
                        sock.setblocking(False)
                        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                        for option in socket_options or ():
                            sock.setsockopt(*option)
                        if local_address:
                            sock.bind((local_address, 0))
                        # One address that swallows packets must not use up the time of all.
                        left = len(addresses) - index
                        async with asyncio.timeout(timeout / left if timeout else None):
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


async def _resolve(host: str, port: int) -> list[tuple[int, Any]]:
    """Families and addresses of a host; without asking a thread when it is an address itself."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
        return [(family, address) for family, _, _, _, address in infos]
    return [(socket.AF_INET if version == 4 else socket.AF_INET6, (host, port))]
