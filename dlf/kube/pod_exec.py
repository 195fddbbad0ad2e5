"""A command in a running container: the answer of the API server's `exec`, over a WebSocket.

Frames are those of RFC 6455; the protocol in them is `v4.channel.k8s.io`: the first byte of each
message is a channel. Only output is read. The last message is a Status of channel 3.
"""

import base64
import os
import struct
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from dlf.kube.api_errors import Action, Unavailable
from dlf.kube.http import HttpClient
from dlf.kube.request import ApiRequest, path_of
from dlf.kube.responses import decode
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Status

STDOUT, STDERR, STATUS = 1, 2, 3
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_MAX_STDERR_BYTES = 4096
_MAX_MESSAGE_BYTES = 32 << 20


class BadFrame(ValueError):
    """The server does not speak this protocol."""


def request(namespace: str, pod: str, container: str, command: Sequence[str]) -> ApiRequest:
    """GET .../exec, upgraded to a WebSocket."""
    words = [("container", container), ("stdout", "true"), ("stderr", "true")]
    query = urlencode([*words, *(("command", word) for word in command)])
    return ApiRequest(
        action=Action("create", "pods/exec", namespace, pod),
        path=f"{path_of(POD, namespace, pod, 'exec')}?{query}",
    )


def headers() -> dict[str, str]:
    """That ask for the upgrade."""
    return {
        "Accept": "*/*",  # the answer is no JSON, and the API server says 406 to who wants that
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
    }


class Messages:
    """Takes the server's bytes apart.

    Attributes:
        closed: the server has said that it ends.
        answers: frames that have to be sent: a pong for each ping.
    """

    def __init__(self) -> None:
        self.closed = False
        self.answers: list[bytes] = []
        self._data = bytearray()
        self._parts = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Channel and content of each message that is complete now.

        Raises:
            BadFrame: it is none.
        """
        self._data += data
        while (frame := self._frame()) is not None:
            final, opcode, payload = frame
            if opcode == _PING:
                self.answers.append(masked(_PONG, payload))
            elif opcode == _CLOSE:
                self.closed = True
                return
            elif opcode in {0, _TEXT, _BINARY}:
                self._parts += payload
                if len(self._parts) > _MAX_MESSAGE_BYTES:
                    raise BadFrame("its answer is too long")
                if final and self._parts:
                    message, self._parts = bytes(self._parts), bytearray()
                    yield message[0], message[1:]

    def _frame(self) -> tuple[bool, int, bytes] | None:
        if len(self._data) < 2:
            return None
        first, length = self._data[0], self._data[1]
        if length & 0x80:
            raise BadFrame("a server does not mask its frames")
        at = 2
        if length >= 126:
            form = ">H" if length == 126 else ">Q"
            at += struct.calcsize(form)
            if len(self._data) < at:
                return None
            (length,) = struct.unpack_from(form, self._data, 2)
        if length > _MAX_MESSAGE_BYTES:
            raise BadFrame("its answer is too long")
        if len(self._data) < at + length:
            return None
        payload = bytes(self._data[at : at + length])
        del self._data[: at + length]
        return bool(first & 0x80), first & 0x0F, payload


def masked(opcode: int, payload: bytes) -> bytes:
    """A short frame of a client, which has to mask it."""
    mask = os.urandom(4)
    body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload[:125]))
    return bytes([0x80 | opcode, 0x80 | len(body)]) + mask + body


async def output(http: HttpClient, api_request: ApiRequest) -> tuple[bytes, str]:
    """What the command printed to stdout, and why it failed, or "".

    Raises:
        Rejected: the server refused: there is no such container, or it is not allowed.
        Unavailable: the connection broke.
    """
    printed, complaint = bytearray(), bytearray()
    reason = ""
    messages = Messages()
    async with http.upgrade(api_request, headers()) as stream:
        try:
            while not messages.closed:
                data = await stream.read()
                if not data:
                    break
                for channel, content in messages.feed(data):
                    if channel == STDOUT:
                        printed += content
                    elif channel == STDERR:
                        complaint += content[: _MAX_STDERR_BYTES - len(complaint)]
                    elif channel == STATUS:
                        reason = _reason(content)
                for answer in messages.answers:
                    await stream.write(answer)
                messages.answers.clear()
        except BadFrame as error:
            raise Unavailable(str(error)) from error
    lines = complaint.decode(errors="replace").strip().splitlines()
    return bytes(printed), f"{reason}: {lines[-1]}" if reason and lines else reason


def _reason(content: bytes) -> str:
    status = decode(content, Status)
    return "" if status.status == "Success" else status.message or "it failed"
