"""Where a response's body ends (RFC 9112, section 6.3): bytes from the wire in, body out. No I/O.

A kubelet sends each live log line as an HTTP chunk of its own, so all chunks of one read are
decoded in one loop. Cost matters here: every byte of every log goes through.
"""

import re
from functools import lru_cache

import httpx

_MAX_LINE_BYTES = 4096  # of a chunk's size line, or of a trailer
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


@lru_cache(maxsize=4096)
def _chunk_size(line: bytes) -> int:
    """The number in a chunk's first line."""
    match = _SIZE_LINE.fullmatch(line)
    if match is None:
        raise httpx.RemoteProtocolError(f"not a chunk size: {line[:32]!r}")
    return int(match[1], 16)


class ChunkedDecoder:
    """`Transfer-Encoding: chunked` (RFC 9112, section 7.1).

    Attributes:
        complete: the last chunk came.
    """

    def __init__(self) -> None:
        self.complete = False
        self._remaining = 0  # bytes of the current chunk that are still to come
        self._partial = b""  # beginning of a size line, or of the newline that ends a chunk
        self._after_data = False
        self._in_trailers = False

    def decode(self, data: bytes) -> bytes:
        """Return what is body among these bytes from the wire.

        Raises:
            httpx.RemoteProtocolError: they are not chunks.
        """
        if self._remaining == 0 and not (self._partial or self._after_data or self._in_trailers):
            # Mostly one whole chunk came: one live line.
            end = data.find(b"\r\n")
            if end > 0 and data.endswith(b"\r\n"):
                size = _chunk_size(data[:end])
                if size and size == len(data) - end - 4:
                    return data[end + 2 : -2]
        if self._remaining >= len(data):
            self._remaining -= len(data)
            self._after_data = not self._remaining
            return data
        parts = []
        at = 0
        if self._remaining:
            at = self._remaining
            parts.append(data[:at])
            self._remaining = 0
            self._after_data = True
        elif self._partial:
            data = self._partial + data
            self._partial = b""
        while not self.complete:
            if self._after_data:
                newline = data[at : at + 2]
                if newline != b"\r\n":
                    if len(newline) < 2 and b"\r\n".startswith(newline):
                        break
                    raise httpx.RemoteProtocolError("a chunk is longer than its size")
                at += 2
                self._after_data = False
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            start = end + 2
            if self._in_trailers:
                self.complete = end == at
                at = start
                continue
            size = _chunk_size(data[at:end])
            if not size:
                self._in_trailers = True
                at = start
                continue
            parts.append(data[start : start + size])
            at = start + size
            self._after_data = at <= len(data)
            if at > len(data):
                self._remaining = at - len(data)
                return b"".join(parts)
        self._partial = data[at:]
        if len(self._partial) > _MAX_LINE_BYTES:
            raise httpx.RemoteProtocolError("a chunk has no size")
        return b"".join(parts)

    def may_end(self) -> bool:
        """Whether the connection may be closed here."""
        return self.complete


class LengthDecoder:
    """A body of `Content-Length` bytes; with None, one that ends with the connection.

    Attributes:
        complete: all bytes came.
    """

    def __init__(self, length: int | None) -> None:
        self._remaining = length
        self.complete = length == 0

    def decode(self, data: bytes) -> bytes:
        """Return what is body among these bytes from the wire."""
        if self._remaining is None:
            return data
        body = data[: self._remaining]
        self._remaining -= len(body)
        self.complete = not self._remaining
        return body

    def may_end(self) -> bool:
        """Whether the connection may be closed here."""
        return self._remaining is None or self.complete


def make_decoder(status: int, headers: httpx.Headers) -> ChunkedDecoder | LengthDecoder:
    """The decoder for a response to GET, POST, PATCH, PUT or DELETE.

    After 101 Switching Protocols, everything up to the connection's end is body.
    """
    if status in (204, 304):
        return LengthDecoder(0)
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        return ChunkedDecoder()
    length = headers.get("Content-Length")
    return LengthDecoder(int(length) if length else None)
