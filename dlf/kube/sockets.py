"""Byte streams over non-blocking sockets, plain or TLS: a thousand of them, mostly idle.

asyncio's streams keep a transport, a protocol and buffers for each connection. Here a connection is
a socket and, for TLS, an SSLObject; a read is one callback of the poller into buffers that all
connections share.
"""

import asyncio
import select
import socket
import ssl
from collections.abc import Callable

from dlf.kube.poller import running_pollers
from dlf.kube.tls_layer import RECEIVE_BYTES, RECORD_BYTES, TlsLayer

Take = Callable[[bytes], bool]
"""Takes bytes and returns True, or returns False when it cannot just now."""

_received = memoryview(bytearray(RECEIVE_BYTES))


class SocketStream:
    """One connection, with any number of TLS layers (two through an HTTPS proxy)."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._fd = sock.fileno()
        self._loop = asyncio.get_running_loop()
        self._pollers = running_pollers()
        self._poller = self._pollers.prompt
        self._waiter: asyncio.Future[bytes] | None = None
        self._take: Take | None = None
        self._watched = False
        self._has_more = False  # the last read may have left something
        # b"" or an error once the end was seen: the poller may not report it again.
        self._end: bytes | Exception | None = None
        self.layers: tuple[TlsLayer, ...] = ()

    def receive(self, take: Take | None = None) -> asyncio.Future[bytes]:
        """The next bytes, as many as one recv gives; b"" when the peer has closed.

        The socket is read in the callback that says it is readable, and watched until nobody
        waits for it when it is: for a steady reader that is one system call per read.

        Args:
            take: offered all bytes first, in that callback; what it takes is not returned, and
                what it raises is raised here. It saves a live line the way through the task.

        Raises:
            OSError: the connection broke; ssl.SSLError is one.
        """
        self._take = take
        if not self._watched:
            self._poller.add(self._fd, self._on_readable)
            self._watched = True
        if self._end is not None:
            self._loop.call_soon(self._on_readable)
        self._waiter = self._loop.create_future()
        return self._waiter

    async def send(self, data: bytes) -> None:
        """Send all of it.

        Raises:
            OSError: the connection broke; ssl.SSLError is one.
        """
        whole = memoryview(data)
        for start in range(0, len(data), RECORD_BYTES):
            part = whole[start : start + RECORD_BYTES]
            for layer in reversed(self.layers):
                part = memoryview(layer.encrypt(part))
            await self._send(part)

    async def start_tls(
        self,
        context: ssl.SSLContext,
        server_hostname: str,
    ) -> None:
        """Add a TLS layer.

        Args:
            context: verifies the peer.
            server_hostname: that its certificate must be for.

        Raises:
            ssl.SSLError: no agreement.
            OSError: the connection broke.
        """
        layer = TlsLayer(context, server_hostname)
        data = None
        done = False
        try:
            while not done:
                done, answer = layer.handshake(data)
                await self.send(answer)
                if not done:
                    data = await self.receive()
        except ssl.SSLError:
            if alert := layer.outgoing():
                await self.send(alert)
            raise
        self.layers = (*self.layers, layer)

    def read_in_bulk(self, wanted: bool) -> None:
        """Whether to read every now and then, what has come by then, or at once what comes."""
        poller = self._pollers.bulk if wanted else self._pollers.prompt
        if poller is not self._poller:
            self._unwatch()
            self._poller = poller

    def is_readable(self) -> bool:
        """Whether there are bytes, or the end; an idle HTTP/1.1 connection has neither."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return self._end is not None or bool(poll.poll(0))

    def close(self) -> None:
        """Close the connection. A reader is cancelled."""
        self._unwatch()
        if self._waiter is not None:
            self._waiter.cancel()
        self._sock.close()

    def _on_readable(self) -> bool:
        """Read; whether there may be more."""
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._unwatch()
            return False
        try:
            data = self._read()
            if data is None:
                return False
            if data and self._take is not None and self._take(data):
                if self._end is not None:
                    self._loop.call_soon(self._on_readable)
                return self._has_more
        except Exception as error:
            self._unwatch()
            waiter.set_exception(error)
            return False
        waiter.set_result(data)
        return self._has_more

    def _read(self) -> bytes | None:
        """What there is to read; None when it is nothing yet, b"" at the end."""
        if isinstance(self._end, Exception):
            raise self._end
        if self._end is not None:
            return self._end
        try:
            size = self._sock.recv_into(_received)
        except BlockingIOError:
            return None
        self._has_more = size == RECEIVE_BYTES
        if not size:
            for layer in self.layers:
                layer.end()
            self._end = b""
            return b""
        if not self.layers:
            return bytes(_received[:size])
        data, plain = _received[:size], b""
        for layer in self.layers:
            plain = layer.decrypt(data)
            if layer.closed or layer.failure:
                self._end = layer.failure or b""
            data = memoryview(plain)
        return plain or (None if self._end is None else self._read())

    async def _send(self, data: memoryview) -> None:
        while data:
            try:
                data = data[self._sock.send(data) :]
            except BlockingIOError:
                await self._writable()

    async def _writable(self) -> None:
        ready = self._loop.create_future()
        self._loop.add_writer(self._fd, _set, ready)
        try:
            await ready
        finally:
            self._loop.remove_writer(self._fd)

    def _unwatch(self) -> None:
        if self._watched:
            self._poller.remove(self._fd)
            self._watched = False


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
