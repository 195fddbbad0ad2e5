"""An HTTP proxy: it opens tunnels, and can refuse to."""

import asyncio
import ssl
from contextlib import suppress


class HttpProxy:
    """Listens on 127.0.0.1; an async context manager.

    Attributes:
        heads: of all requests so far.
        refusal: status line to answer with instead of a tunnel.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.heads: list[bytes] = []
        self.refusal = b""
        self.port = 0

    async def __aenter__(self) -> "HttpProxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            if self.refusal:
                writer.write(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % self.refusal)
                await writer.drain()
            elif head.startswith(b"CONNECT "):
                host, _, port = head.split()[1].decode().rpartition(":")
                there = await asyncio.open_connection(host, int(port))
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()
        await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    """Close, and wait until it is."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        await close(writer)
