"""The protocol of `--remote` between `ssh` in one pod and the worker in another. Pure.

Both sides know the job's secret. Each proves that by a MAC of two random numbers, one from each
side, so that a recorded connection cannot be replayed:

    client -> server   "DLF1", 32 random bytes
    server -> client   32 random bytes
    client -> server   MAC of both, as client
    server -> client   MAC of both, as server

Frames follow, in both directions: type (1 byte), length (4 bytes, at most 192 KiB), payload, MAC.
The MAC covers the frame's number, head and payload, with a key for this connection and direction:
a frame that is changed, repeated, dropped, reordered or reflected ends the connection.

The MAC is keyed BLAKE2b (RFC 7693). What is sent is not encrypted.

Hash and comparison are those of hashlib and hmac, whose import would start OpenSSL: two megabytes
in every pod.
"""

import struct
from _blake2 import blake2b
from _operator import _compare_digest as compare_digest
from collections.abc import Iterator
from typing import Literal

MAGIC = b"DLF1"
NONCE_BYTES = 32
PROOF_BYTES = 32
HELLO_BYTES = len(MAGIC) + NONCE_BYTES

COMMAND = b"C"
"""Client: the command line to run; the first frame."""
FINISH = b"F"
"""Client: the first pod's command has ended; the first frame. Payload: its exit code."""
STDIN, STDIN_END = b"I", b"E"
"""Client: a part of standard input; its end."""
SIGNAL = b"S"
"""Client: the number of a signal for the command's processes."""
STDOUT, STDERR = b"O", b"R"
"""Server: a part of the command's output."""
STDIN_ACK = b"A"
"""Server: the number of bytes of standard input that the command has read."""
EXIT = b"X"
"""Server: the exit code; the last frame."""

STDIN_WINDOW_BYTES = 256 << 10
"""Bytes of standard input that may be sent before they are acknowledged."""
CHUNK_BYTES = 64 << 10
"""Bytes of output or input in one frame."""
_MAX_FRAME_BYTES = 192 << 10  # a command line may have 128 KiB (MAX_ARG_STRLEN)
MAX_COMMAND_BYTES = 128 << 10
"""MAX_ARG_STRLEN of Linux."""
_HEAD = struct.Struct(">cI")
_NUMBER = struct.Struct(">Q")
_MAC_BYTES = 16
_MIN_SECRET_BYTES = 16

Side = Literal["client", "server"]


class ProtocolViolation(Exception):
    """The other side does not know the secret, or does not speak this protocol."""


def derive_key(secret: bytes) -> bytes:
    """The key that both sides derive from the job's secret.

    Raises:
        ValueError: it is too short to be a secret.
    """
    text = secret.strip()
    if len(text) < _MIN_SECRET_BYTES:
        raise ValueError(f"has {len(text)} bytes, and a secret {_MIN_SECRET_BYTES} or more")
    return blake2b(text, digest_size=32, person=b"dlf remote key").digest()


def proof(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> bytes:
    """The MAC by which a side proves that it knows the key."""
    return _mac(key, f"dlf {side}", client_nonce + server_nonce, PROOF_BYTES)


def verify(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes, given: bytes) -> bool:
    """Whether `given` is the side's proof; takes the same time for every wrong one."""
    return compare_digest(proof(key, side, client_nonce, server_nonce), given)


class Sender:
    """Encodes the frames of one direction."""

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
    """Decodes the frames of one direction."""

    def __init__(self, key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> None:
        self._key = _direction(key, side, client_nonce, server_nonce)
        self._count = 0
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Type and payload of each frame that is complete now.

        Raises:
            ProtocolViolation: a frame is not the next one of the other side.
        """
        self._data += data
        while len(self._data) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._data)
            if length > _MAX_FRAME_BYTES:
                raise ProtocolViolation
            end = _HEAD.size + length
            if len(self._data) < end + _MAC_BYTES:
                return
            body, tag = bytes(self._data[:end]), bytes(self._data[end : end + _MAC_BYTES])
            if not compare_digest(_tag(self._key, self._count, body), tag):
                raise ProtocolViolation
            self._count += 1
            del self._data[: end + _MAC_BYTES]
            yield kind, body[_HEAD.size :]


def _direction(key: bytes, side: Side, client_nonce: bytes, server_nonce: bytes) -> bytes:
    """The key of what this side sends in one connection."""
    return _mac(key, f"dlf {side} to", client_nonce + server_nonce, 32)


def _tag(key: bytes, count: int, body: bytes) -> bytes:
    return _mac(key, "dlf frame", _NUMBER.pack(count) + body, _MAC_BYTES)


def _mac(key: bytes, purpose: str, data: bytes, size: int) -> bytes:
    person = purpose.encode()
    return blake2b(data, digest_size=size, key=key, person=person).digest()
