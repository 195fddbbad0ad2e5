"""The protocol between `ssh` here and the worker there: who may speak, and what is said. Pure.

Both sides know the job's secret. Each proves it for two fresh random numbers, one from each side,
so that nothing recorded can be sent again:

    client -> server   "DLF1", 32 random bytes
    server -> client   32 random bytes
    client -> server   MAC of both, as client
    server -> client   MAC of both, as server

Frames follow, in both directions: type (1 byte), length (4 bytes, at most 192 KiB), payload, MAC.
The MAC is over the number of the frame, its head and its payload, by a key of this connection and
direction: a frame that is changed, repeated, left out, moved or reflected ends the connection.

The MAC is keyed BLAKE2b (RFC 7693). What is sent is not encrypted.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterator
from typing import Literal

MAGIC = b"DLF1"
NONCE = 32
PROOF = 32
HELLO = len(MAGIC) + NONCE

COMMAND = b"C"
"""Client: run this by the shell; the first frame."""
FINISH = b"F"
"""Client: the first pod's command has ended; the first frame. Payload: its exit code."""
STDIN, STDIN_END = b"I", b"E"
"""Client: a part of standard input; its end."""
SIGNAL = b"S"
"""Client: the number of a signal for the command's processes."""
STDOUT, STDERR = b"O", b"R"
"""Server: a part of the command's output."""
TAKEN = b"A"
"""Server: so many bytes of standard input were taken; more may be sent."""
EXIT = b"X"
"""Server: the exit code; the last frame."""

WINDOW = 256 << 10
"""Bytes of standard input that may be on their way."""
CHUNK = 64 << 10
"""Bytes of output or input in one frame."""
_LONGEST = 192 << 10  # bytes of a frame: a command line may have 128 KiB (MAX_ARG_STRLEN)
COMMAND_LIMIT = 128 << 10
"""Bytes of a command line: MAX_ARG_STRLEN of Linux."""
_HEAD = struct.Struct(">cI")
_NUMBER = struct.Struct(">Q")
_TAG = 16
_LEAST_SECRET = 16  # bytes

Side = Literal["client", "server"]


class Refused(Exception):
    """The other side does not know the secret, or does not speak this protocol."""


def key(secret: bytes) -> bytes:
    """The key that a job's secret stands for.

    Raises:
        ValueError: it is too short to be a secret.
    """
    text = secret.strip()
    if len(text) < _LEAST_SECRET:
        raise ValueError(f"it has {len(text)} bytes; {_LEAST_SECRET} are needed")
    return hashlib.blake2b(text, digest_size=32, person=b"dlf remote key").digest()


def proof(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> bytes:
    """What a side sends to show that it knows the key."""
    return _mac(key, f"dlf {side}", client_nonce + server_nonce, PROOF)


def proves(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes, given: bytes) -> bool:
    """Whether this is the side's proof; takes the same time for every wrong one."""
    return hmac.compare_digest(proof(key, side, client_nonce, server_nonce), given)


class Sender:
    """Makes the frames of one direction."""

    def __init__(self, key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> None:
        self._key = _direction(key, side, client_nonce, server_nonce)
        self._count = 0

    def frame(self, kind: bytes, payload: bytes = b"") -> bytes:
        """The next frame."""
        body = _HEAD.pack(kind, len(payload)) + payload
        tag = _tag(self._key, self._count, body)
        self._count += 1
        return body + tag


class Receiver:
    """Takes the frames of one direction apart."""

    def __init__(self, key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> None:
        self._key = _direction(key, side, client_nonce, server_nonce)
        self._count = 0
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Type and payload of each frame that is complete now.

        Raises:
            Refused: a frame is not the next one of the other side.
        """
        self._data += data
        while len(self._data) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._data)
            if length > _LONGEST:
                raise Refused
            end = _HEAD.size + length
            if len(self._data) < end + _TAG:
                return
            body, tag = bytes(self._data[:end]), bytes(self._data[end : end + _TAG])
            if not hmac.compare_digest(_tag(self._key, self._count, body), tag):
                raise Refused
            self._count += 1
            del self._data[: end + _TAG]
            yield kind, body[_HEAD.size :]


def _direction(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> bytes:
    """The key of what this side sends in one connection."""
    return _mac(key, f"dlf {side} to", client_nonce + server_nonce, 32)


def _tag(key: bytes, count: int, body: bytes) -> bytes:
    return _mac(key, "dlf frame", _NUMBER.pack(count) + body, _TAG)


def _mac(key: bytes, purpose: str, data: bytes, size: int) -> bytes:
    person = purpose.encode()
    return hashlib.blake2b(data, digest_size=size, key=key, person=person).digest()
