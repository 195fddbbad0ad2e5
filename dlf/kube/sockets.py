"""Connections for httpcore: non-blocking sockets, plain or TLS, watched by the event loop.

httpcore's own backend for asyncio is anyio: each read passes its stream, an asyncio transport and,
for TLS, two memory buffers. A thousand idle log streams are a thousand of all of these. Here a
connection is one socket, or one SSL socket, and a read is one callback of the poller.
"""

import asyncio
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

from dlf.kube.poller import running_poller

Take = Callable[[bytes], bool]
"""Takes bytes, or says that it cannot just now."""

_LITTLE = 2 << 10  # bytes of a read that is to find a line or two
_RECORD = 16 << 10  # bytes of the longest TLS record
_MUCH = 32 << 10  # bytes after which no more is read in one go


class SocketStream:
    """One connection; an `httpcore.AsyncNetworkStream` in all but ancestry.

    Attributes:
        recent: what the last `read` returned, after the three bytes before it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._recv: Callable[[int], bytes] = sock.recv
        if isinstance(sock, ssl.SSLSocket):
            # What its recv comes to after four calls more, for each line.
            self._recv = sock._sslobj.read  # type: ignore[attr-defined]  # noqa: SLF001
        self._fd = sock.fileno()
        self._loop = asyncio.get_running_loop()
        self._poller = running_poller()
        self._waiter: asyncio.Future[bytes] | None = None
        self._take: Take | None = None
        self._watched = False
        self._ended = False  # the end was seen; no poller tells of it again
        self.recent = b""

    def receive(self, take: Take | None = None) -> asyncio.Future[bytes]:
        """The next bytes, as many as there are up to some 48 KB; b"" when the peer has closed.

        The socket is read in the callback that says it is readable, and watched until nobody
        waits for it when it is: for a steady reader that is one call of the system per read.

        Args:
            take: offered all bytes first, in that callback; what it takes is not returned, and
                what it raises is raised here. It saves a live line the way through the task.
        """
        self._take = take
        if not self._watched:
            self._poller.add(self._fd, self._on_readable)
            self._watched = True
        if self._ended:
            self._loop.call_soon(self._on_readable)
        self._waiter = self._loop.create_future()
        return self._waiter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """As `receive`, within a time.

        Raises:
            httpcore.ReadError, httpcore.ReadTimeout, ssl.SSLError: it broke, or nothing came.
        """
        with mapped(httpcore.ReadError, httpcore.ReadTimeout):
            async with asyncio.timeout(timeout):
                data = await self.receive()
        self.recent = self.recent[-3:] + data
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it.

        Raises:
            httpcore.WriteError, httpcore.WriteTimeout, ssl.SSLError: it broke, or was not taken.
        """
        self.recent = b""
        left = memoryview(buffer)
        with mapped(httpcore.WriteError, httpcore.WriteTimeout):
            async with asyncio.timeout(timeout):
                while left:
                    try:
                        left = left[self._sock.send(left) :]
                    except (BlockingIOError, ssl.SSLWantWriteError):
                        await self._ready(writable=True)

    async def aclose(self) -> None:
        """Close the connection. A reader is cancelled."""
        self._unwatch()
        if self._waiter is not None:
            self._waiter.cancel()
        self._sock.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "SocketStream":
        """Agree on TLS; the connection is then used through the returned stream.

        Raises:
            httpcore.ConnectError, httpcore.ConnectTimeout: no agreement; its cause says why.
        """
        self._unwatch()
        try:
            with mapped(httpcore.ConnectError, httpcore.ConnectTimeout, ssl.SSLError):
                async with asyncio.timeout(timeout):
                    secure = ssl_context.wrap_socket(
                        self._sock,
                        # As bytes: URLs are ASCII, and so the idna codec is never needed.
                        server_hostname=server_hostname.encode() if server_hostname else None,
                        do_handshake_on_connect=False,
                        suppress_ragged_eofs=False,
                    )
                    self._sock = secure
                    await self._shake_hands(secure)
        except BaseException:
            self._sock.close()
            raise
        return SocketStream(secure)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about a connection."""
        match info:
            case "ssl_object":
                return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
            case "socket":
                return self._sock
            case "client_addr":
                return self._sock.getsockname()
            case "server_addr":
                return self._sock.getpeername()
            case "is_readable":
                poll = select.poll()
                poll.register(self._fd, select.POLLIN)
                return bool(poll.poll(0))
            case _:
                return None

    def _on_readable(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._unwatch()
            return
        try:
            data = self._recv(_LITTLE)
            if len(data) == _LITTLE:
                data = self._receive_more(data)
            if data and self._take is not None and self._take(data):
                if self._ended:
                    self._loop.call_soon(self._on_readable)
                return
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except ssl.SSLZeroReturnError:
            data = b""
        except Exception as error:
            self._unwatch()
            waiter.set_exception(error)
            return
        self._ended = self._ended or not data
        waiter.set_result(data)

    def _receive_more(self, data: bytes) -> bytes:
        """Read on after a full buffer, until there is nothing or enough.

        Always asks for what a TLS record can hold: what is left of one in the SSL socket makes no
        socket readable.
        """
        parts = [data]
        size = len(data)
        try:
            while size < _MUCH and not self._ended:
                data = self._recv(max(_RECORD, _MUCH - size))
                parts.append(data)
                size += len(data)
                self._ended = not data
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            self._ended = True  # what came is good; the next read says what is wrong
        return b"".join(parts)

    async def _shake_hands(self, sock: ssl.SSLSocket) -> None:
        while True:
            try:
                sock.do_handshake()
            except ssl.SSLWantReadError:
                await self._ready(writable=False)
            except ssl.SSLWantWriteError:
                await self._ready(writable=True)
            else:
                return

    async def _ready(self, *, writable: bool) -> None:
        ready = self._loop.create_future()
        add, remove = (
            (self._loop.add_writer, self._loop.remove_writer)
            if writable
            else (self._loop.add_reader, self._loop.remove_reader)
        )
        add(self._fd, _set, ready)
        try:
            await ready
        finally:
            remove(self._fd)

    def _unwatch(self) -> None:
        if self._watched:
            self._poller.remove(self._fd)
            self._watched = False


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


@contextmanager
def mapped(broken: type[Exception], late: type[Exception], *more: type[OSError]) -> Iterator[None]:
    """Turn the socket's exceptions into httpcore's. Other words of TLS go through as they are."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        wire = isinstance(error, (ssl.SSLEOFError, ssl.SSLSyscallError, *more))
        if isinstance(error, ssl.SSLError) and not wire:
            raise
        raise broken(str(error)) from error
