"""An HTTP/1.1 server of the size of its task: real sockets, keep-alive, chunked answers."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote, urlsplit

from typing_extensions import override


@dataclass(frozen=True)
class Request:
    """One request as it came over the wire.

    Attributes:
        headers: their names in lower case.
        at: the loop's time.
        client_name: of the certificate that the connection was made with; "" for none.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = field(repr=False)
    at: float
    client_name: str = ""


class ConnectionDropped(Exception):
    """The connection is to be dropped without (the rest of) an answer."""


class Reply:
    """The answer to one request: `send` for a whole one, or `start`, `chunk` ..., `end`."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.started = False
        self.ended = False

    async def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, {"Content-Length": str(len(body))} | (headers or {}))
        self._writer.write(body)
        self.ended = True
        await self._writer.drain()

    async def start(self, content_type: str) -> None:
        self._head(200, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})
        await self._writer.drain()

    async def chunk(self, content: bytes) -> None:
        if content:
            self._writer.write(b"%x\r\n%b\r\n" % (len(content), content))
            await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        self.ended = True
        await self._writer.drain()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.started = True
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())


Handler = Callable[[Request, Reply], Awaitable[None]]


class _Connection(asyncio.StreamReaderProtocol):
    """Knows when the client has hung up, also while nobody reads."""

    def __init__(self, server: "HttpServer") -> None:
        super().__init__(asyncio.StreamReader(limit=1 << 20), server.serve)
        self.disconnected = asyncio.Event()

    @override
    def eof_received(self) -> bool:
        super().eof_received()
        self.disconnected.set()
        return False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.disconnected.set()


class HttpServer:
    """Listens on 127.0.0.1. `stop` and `start` again keep the port: a server that is away."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuse new connections and drop those there are."""
        if self._server:
            self._server.close()
            self._server = None
        await self.drop()

    async def drop(self) -> None:
        """Reset every connection."""
        tasks = list(self._connections)
        for task, writer in self._connections.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, request after request."""
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        protocol = writer.transport.get_protocol()
        assert isinstance(protocol, _Connection)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._serve_one(reader, writer, protocol.disconnected):
                    pass
        finally:
            del self._connections[task]
            writer.close()

    async def _serve_one(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        disconnected: asyncio.Event,
    ) -> bool:
        request = await _read(reader, _client_name(writer))
        reply = Reply(writer)
        work = asyncio.ensure_future(self._handler(request, reply))
        leave = asyncio.ensure_future(disconnected.wait())
        try:
            await asyncio.wait([work, leave], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        except ConnectionDropped:
            writer.transport.abort()
        finally:
            for each in (work, leave):
                each.cancel()
            await asyncio.gather(work, leave, return_exceptions=True)
        return reply.ended and not disconnected.is_set() and not writer.is_closing()


async def _read(reader: asyncio.StreamReader, client_name: str) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    method, url, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    parts = urlsplit(url)
    return Request(
        method=method,
        path=unquote(parts.path),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers=headers,
        body=await reader.readexactly(int(headers.get("content-length", "0"))),
        at=asyncio.get_running_loop().time(),
        client_name=client_name,
    )


def _client_name(writer: asyncio.StreamWriter) -> str:
    certificate = writer.get_extra_info("peercert") or {}
    return next((name for _, name in certificate.get("subjectAltName", ())), "")
