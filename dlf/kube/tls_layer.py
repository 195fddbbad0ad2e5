"""TLS between memory buffers, into room that all connections share.

Of bytes that came together, all records are decrypted in one loop: a kubelet sends each log line as
a record of its own, and reading them through an SSL socket would take two system calls each.
"""

import ssl
from collections.abc import Callable
from typing import Final, NoReturn

RECORD_BYTES: Final = 16 << 10
"""Of the longest TLS record's content."""

RECEIVE_BYTES: Final = 16 << 10
"""That `decrypt` takes at most. All that is made of one read is in memory at once, several times
over; musl maps blocks much larger than this one by one, which costs a page fault for each page."""

# Bytes given to OpenSSL at a time. A memory BIO keeps the largest size it ever had, for each
# connection: a thousand of them keep 8 MB so.
_FEED_BYTES: Final = 8 << 10

_decrypted = memoryview(bytearray(RECEIVE_BYTES + 2 * RECORD_BYTES))


class TlsLayer:
    """TLS between memory buffers: encrypted bytes in, plain bytes out, and the other way round.

    Attributes:
        closed: the peer has sent close_notify.
        failure: what broke it after the bytes that `decrypt` has returned; raise it after them.
    """

    def __init__(self, context: ssl.SSLContext, server_hostname: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        # The name as bytes: URLs are ASCII, and so the idna codec is never needed.
        name: str = server_hostname.encode() if server_hostname else None  # type: ignore[assignment]
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        # Into a buffer it returns a number of bytes, which its type does not know.
        self._read: Callable[[int, memoryview], int] = self._tls.read  # type: ignore[assignment]
        self.closed = False
        self.failure: ssl.SSLError | None = None

    def handshake(self, data: bytes | None) -> tuple[bool, bytes]:
        """Go on with the handshake.

        Args:
            data: from the peer; None for the first step, b"" at the connection's end.

        Returns:
            Whether it is complete, and what to send to the peer.

        Raises:
            ssl.SSLError: no agreement; `outgoing` may hold an alert for the peer.
        """
        if data:
            self._incoming.write(data)
        elif data is not None:
            self._incoming.write_eof()
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False, self.outgoing()
        return True, self.outgoing()

    def outgoing(self) -> bytes:
        """What OpenSSL wants to send to the peer by now."""
        return self._outgoing.read()

    def encrypt(self, data: memoryview) -> bytes:
        """The records that carry these bytes, up to `RECORD_BYTES`."""
        self._tls.write(data)
        return self._outgoing.read()

    def decrypt(self, data: memoryview) -> bytes:
        """The content of the records that are complete with these bytes; b"" when none is.

        Raises:
            ssl.SSLError: they are not valid.
        """
        size = 0
        for start in range(0, len(data), _FEED_BYTES):
            self._incoming.write(data[start : start + _FEED_BYTES])
            # OpenSSL takes one record at a time out of the BIO: when that is empty there is no
            # more, which is cheaper to ask for than to be told by an exception.
            while self._incoming.pending:
                try:
                    count = self._read(RECORD_BYTES, _decrypted[size:])
                except ssl.SSLWantReadError:
                    break
                except ssl.SSLError as error:
                    if not size:
                        raise
                    self.failure = error
                    return bytes(_decrypted[:size])
                size += count
                if not count:
                    self.closed = True
                    return bytes(_decrypted[:size])
        return bytes(_decrypted[:size])

    def end(self) -> NoReturn:
        """The connection ended, and the peer did not say that it ends here.

        Raises:
            ssl.SSLError: always: it was cut off.
        """
        self._incoming.write_eof()
        self._read(1, _decrypted)
        # Python 3.11.2, for one, has OpenSSL take it for an end that the peer meant.
        raise ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "EOF occurred in violation of protocol")
