"""The frames of a WebSocket, in whatever pieces they come."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlf.kube.pod_exec import BadFrame, Messages, masked, request


def _frame(payload: bytes, opcode: int = 2, final: bool = True) -> bytes:
    first = (0x80 if final else 0) | opcode
    if len(payload) < 126:
        return bytes([first, len(payload)]) + payload
    if len(payload) < 1 << 16:
        return bytes([first, 126]) + struct.pack(">H", len(payload)) + payload
    return bytes([first, 127]) + struct.pack(">Q", len(payload)) + payload


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0, 1, 125, 126, 65535, 65536]))),
    st.integers(1, 4000),
)
def test_messages_do_not_depend_on_the_pieces(sent: list[tuple[int, int]], size: int) -> None:
    stream = b"".join(_frame(bytes([channel]) + b"x" * length) for channel, length in sent)
    messages = Messages()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    received = [message for piece in pieces for message in messages.feed(piece)]
    assert [(channel, b"x" * length) for channel, length in sent] == received


def test_a_message_may_come_in_several_frames_with_a_ping_between() -> None:
    """The ping is answered, masked, with its own content."""
    messages = Messages()
    stream = _frame(b"\x01ab", final=False) + _frame(b"hi", opcode=9) + _frame(b"cd", opcode=0)
    assert [(1, b"abcd")] == list(messages.feed(stream))
    (pong,) = messages.answers
    mask = pong[2:6]
    content = bytes(byte ^ mask[index % 4] for index, byte in enumerate(pong[6:]))
    assert (0x8A, 0x82, b"hi") == (pong[0], pong[1], content)


def test_after_a_close_nothing_is_read() -> None:
    messages = Messages()
    assert [] == list(messages.feed(_frame(b"", opcode=8) + _frame(b"\x01x")))
    assert messages.closed


@pytest.mark.parametrize("bad", [b"\x82\x80", b"\x82\x7f" + b"\xff" * 8])
def test_what_no_server_sends_is_refused(bad: bytes) -> None:
    """A masked frame, or one that would fill the memory."""
    with pytest.raises(BadFrame):
        list(Messages().feed(bad))


def test_the_request_names_container_and_every_word() -> None:
    asked = request("ns", "pod-0", "main", ["/dlf/dlf", "stacks", "a b"])
    assert (
        "/api/v1/namespaces/ns/pods/pod-0/exec?container=main&stdout=true&stderr=true"
        "&command=%2Fdlf%2Fdlf&command=stacks&command=a+b"
    ) == asked.path


def test_a_masked_frame_hides_its_content() -> None:
    frame = masked(10, b"x" * 10)
    assert (12 + 4, 0x8A) == (len(frame), frame[0])
