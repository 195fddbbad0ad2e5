"""The body of a long answer, read straight from the socket and cut out of its frames in batches.

A kubelet sends each live log line as an HTTP chunk of its own. httpx and h11 turn each chunk into
an event and several layers of generators; here all chunks of one read are cut in one loop. The
request, the head and its errors stay httpx's; where a connection is not `SocketStream`, the body
does too.
"""

import re
from collections.abc import AsyncIterator
from functools import lru_cache

import httpcore
import httpx

from dlf.kube.sockets import SocketStream, Take

_LONGEST_LINE = 4096  # bytes of a chunk's size line, or of a trailer
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


@lru_cache(maxsize=4096)
def _size(line: bytes) -> int:
    """The number in a chunk's first line."""
    found = _SIZE.fullmatch(line)
    if found is None:
        raise httpcore.RemoteProtocolError(f"not a chunk size: {line[:32]!r}")
    return int(found[1], 16)


class Chunks:
    """Cuts `Transfer-Encoding: chunked` frames (RFC 9112, section 7.1): bytes in, body out.

    Attributes:
        done: the last chunk came.
    """

    def __init__(self) -> None:
        self.done = False
        self._left = 0  # bytes of the current chunk that are still to come
        self._rest = b""  # beginning of a size line, or of the newline that ends a chunk
        self._after_data = False
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the wire; return what is body among them.

        Raises:
            httpcore.RemoteProtocolError: they are no chunks.
        """
        if self._left == 0 and not (self._rest or self._after_data or self._in_trailers):
            # Mostly one whole chunk came: one live line.
            end = data.find(b"\r\n")
            if end > 0 and data.endswith(b"\r\n"):
                size = _size(data[:end])
                if size and size == len(data) - end - 4:
                    return data[end + 2 : -2]
        if self._left >= len(data):
            self._left -= len(data)
            self._after_data = not self._left
            return data
        parts = []
        at = 0
        if self._left:
            at = self._left
            parts.append(data[:at])
            self._left = 0
            self._after_data = True
        elif self._rest:
            data = self._rest + data
            self._rest = b""
        while not self.done:
            if self._after_data:
                mark = data[at : at + 2]
                if mark != b"\r\n":
                    if len(mark) < 2 and b"\r\n".startswith(mark):
                        break
                    raise httpcore.RemoteProtocolError("a chunk is longer than its size")
                at += 2
                self._after_data = False
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            start = end + 2
            if self._in_trailers:
                self.done = end == at
                at = start
                continue
            size = _size(data[at:end])
            if not size:
                self._in_trailers = True
                at = start
                continue
            parts.append(data[start : start + size])
            at = start + size
            self._after_data = at <= len(data)
            if at > len(data):
                self._left = at - len(data)
                return b"".join(parts)
        self._rest = data[at:]
        if len(self._rest) > _LONGEST_LINE:
            raise httpcore.RemoteProtocolError("a chunk has no size")
        return b"".join(parts)

    def end(self) -> bool:
        """Whether the connection may be closed here."""
        return self.done


class Counted:
    """A body of `Content-Length` bytes; or, with None, one that ends with the connection.

    Attributes:
        done: all bytes came.
    """

    def __init__(self, length: int | None) -> None:
        self._left = length
        self.done = length == 0

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the wire; return what is body among them."""
        if self._left is None:
            return data
        body = data[: self._left]
        self._left -= len(body)
        self.done = not self._left
        return body

    def end(self) -> bool:
        """Whether the connection may be closed here."""
        return self._left is None or self.done


class LogBody:
    """The body of an answer, as it comes.

    Args:
        response: with its head read, and nothing of its body.
    """

    def __init__(self, response: httpx.Response) -> None:
        self._raw: AsyncIterator[bytes] | None = None
        self._frames: Chunks | Counted
        self._take: Take | None = None
        self._left = b""  # was offered and not taken
        stream = response.extensions.get("network_stream")
        if not isinstance(stream, SocketStream):
            self._raw = response.aiter_raw()
            return
        self._stream = stream
        # What came with the head is with h11 by now, but was last read from our socket.
        self._ahead = stream.recent[stream.recent.index(b"\r\n\r\n") + 4 :]
        stream.recent = b""
        length = response.headers.get("Content-Length")
        if "chunked" in response.headers.get("Transfer-Encoding", "").lower():
            self._frames = Chunks()
        else:
            self._frames = Counted(int(length) if length else None)

    async def read(self, take: Take | None = None) -> bytes:
        """The next bytes, as many as there are; b"" at the end that the server meant.

        Args:
            take: offered what comes while this waits; what it takes is not returned.

        Raises:
            httpx.TransportError, httpcore.ProtocolError, OSError: the connection broke, also by
                ending too early.
        """
        if self._raw is not None:
            return await anext(self._raw, b"")
        self._take = take
        frames = self._frames
        while not frames.done:
            data, self._ahead = self._ahead, b""
            if data:
                body = frames.feed(data)
            elif not (data := await self._stream.receive(self._offer if take else None)):
                if frames.end():
                    break
                raise httpcore.RemoteProtocolError("the connection ended inside the body")
            else:
                body = self._left if take else frames.feed(data)
            if body:
                return body
        return b""

    def _offer(self, data: bytes) -> bool:
        """Cut bytes from the wire and offer what is body among them; keep it if it is not taken."""
        body = self._frames.feed(data)
        if self._frames.done or (body and self._take and not self._take(body)):
            self._left = body
            return False
        return True
