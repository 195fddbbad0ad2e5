"""One HTTP/1.1 exchange on a connection: h11 for the heads, our decoders for the body.

h11 turns each chunk of a body into an event, and httpx each event into a step of several
generators. For the body of a log that is most of the cost, so bodies are decoded in batches.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import h11
import httpx

from dlf.kube.body_framing import make_decoder
from dlf.kube.sockets import SocketStream, Take

_MAX_HEAD_BYTES = 64 << 10
_BULK_FROM_BYTES = 64 << 10  # a short body is read as fast as it comes


async def exchange_heads(
    stream: SocketStream, request: h11.Request, content: bytes = b""
) -> tuple[h11.Response | h11.InformationalResponse, bytes]:
    """Send a request; return the head of its response, and what came after it.

    Informational responses (1xx) are skipped, but for 101 Switching Protocols.

    Raises:
        httpx.RemoteProtocolError: what came is not HTTP.
        EOFError: the connection ended before a single byte came.
        OSError: the connection broke; ssl.SSLError is one.
    """
    protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
    parts = [protocol.send(request)]
    if content:
        parts.append(protocol.send(h11.Data(content)))
    parts.append(protocol.send(h11.EndOfMessage()))
    # A server that closes while we send may have said why: by a TLS alert, or an early response.
    with suppress(ConnectionError):
        await stream.send(b"".join(part for part in parts if part))
    first = True
    while True:
        data = await stream.receive()
        if first and not data:
            raise EOFError("the server closed the connection without a response")
        first = False
        protocol.receive_data(data)
        try:
            event = protocol.next_event()
            while isinstance(event, h11.InformationalResponse) and event.status_code != 101:
                event = protocol.next_event()
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        if isinstance(event, h11.Response | h11.InformationalResponse):
            return event, protocol.trailing_data[0]


class Body(httpx.AsyncByteStream):
    """The body of a response, as it comes.

    Args:
        stream: the connection.
        response: whose body it is.
        early: what came together with the head.
        read_timeout: seconds that each read may take; None for no limit.
        bulk: nobody waits for any one piece of a long body.
        release: called once when the connection is not needed any more, with whether another
            request may be sent on it.
    """

    def __init__(
        self,
        stream: SocketStream,
        response: h11.Response | h11.InformationalResponse,
        early: bytes,
        read_timeout: float | None,
        bulk: bool,
        release: Callable[[bool], None],
    ) -> None:
        headers = httpx.Headers([(bytes(k), bytes(v)) for k, v in response.headers])
        self._stream = stream
        self._decoder = make_decoder(response.status_code, headers)
        self._early = early
        self._read_timeout = read_timeout
        self._release: Callable[[bool], None] | None = release
        self._keep_alive = (
            response.http_version == b"1.1" and "close" not in headers.get("Connection", "").lower()
        )
        self._bytes_to_bulk = _BULK_FROM_BYTES if bulk else 0
        self._take: Take | None = None
        self._refused = b""  # was offered and not taken

    async def read(self, take: Take | None = None) -> bytes:
        """The next bytes, as many as there are; b"" at the end that the server meant.

        Args:
            take: offered what comes while this waits without limit; what it takes, by returning
                True, is not returned.

        Raises:
            httpx.RemoteProtocolError: the body is not framed as it should be, or was cut short.
            TimeoutError: nothing came.
            OSError: the connection broke; ssl.SSLError is one.
        """
        if self._read_timeout is None:
            return await self._read(take)
        try:
            async with asyncio.timeout(self._read_timeout):
                return await self._read(None)
        except TimeoutError as error:
            raise TimeoutError(f"nothing came for {self._read_timeout:.0f} s") from error

    async def write(self, data: bytes) -> None:
        """Send on a connection that was upgraded to another protocol.

        Raises:
            OSError: the connection broke; ssl.SSLError is one.
        """
        await self._stream.send(data)

    async def _read(self, take: Take | None) -> bytes:
        self._take = take
        decoder = self._decoder
        while not decoder.complete:
            data, self._early = self._early, b""
            if data:
                body = decoder.decode(data)
            elif not (data := await self._stream.receive(self._offer if take else None)):
                if decoder.may_end():
                    break
                raise httpx.RemoteProtocolError("the connection ended inside the body")
            else:
                body = self._refused if take else decoder.decode(data)
            if self._bytes_to_bulk > 0:
                self._bytes_to_bulk -= len(data)
                self._stream.read_in_bulk(self._bytes_to_bulk <= 0)
            if body:
                return body
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:  # type: ignore[explicit-override]
        while data := await self.read():
            yield data

    async def aclose(self) -> None:  # type: ignore[explicit-override]
        """Give the connection back. An unfinished body makes it useless."""
        release, self._release = self._release, None
        if release:
            self._stream.read_in_bulk(False)
            release(self._keep_alive and self._decoder.complete)

    def _offer(self, data: bytes) -> bool:
        """Decode bytes from the wire and offer what is body among them; keep it if not taken."""
        body = self._decoder.decode(data)
        if self._decoder.complete or (body and self._take and not self._take(body)):
            self._refused = body
            return False
        return True
