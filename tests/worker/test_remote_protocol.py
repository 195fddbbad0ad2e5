"""Who does not know the secret is refused, and nothing recorded can be used again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlf.worker import remote_protocol as protocol
from dlf.worker.remote_protocol import ProtocolViolation, Receiver, Sender

_KEY = protocol.derive_key(b"k" * 32)
_OURS, _THEIRS = b"c" * 32, b"s" * 32


def _pair() -> tuple[Sender, Receiver]:
    return (
        Sender(_KEY, "client", _OURS, _THEIRS),
        Receiver(_KEY, "client", _OURS, _THEIRS),
    )


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 40))
def test_frames_arrive_in_whatever_pieces(payloads: list[bytes], size: int) -> None:
    sender, receiver = _pair()
    sent = b"".join(sender.frame(protocol.STDIN, payload) for payload in payloads)
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    received = [frame for piece in pieces for frame in receiver.feed(piece)]
    assert [(protocol.STDIN, payload) for payload in payloads] == received


@given(st.integers(0, 29), st.integers(1, 255))
def test_a_changed_byte_ends_the_connection(at: int, change: int) -> None:
    """Also in the length: a frame of another length is not what was signed, or never completes."""
    sender, receiver = _pair()
    frame = bytearray(sender.frame(protocol.SIGNAL, b"\x0f"))
    frame[at % len(frame)] ^= change
    try:
        received = list(receiver.feed(bytes(frame)))
    except ProtocolViolation:
        received = []
    assert [] == received


def test_a_frame_is_taken_once_and_in_order() -> None:
    sender, receiver = _pair()
    first, second = sender.frame(protocol.STDIN, b"1"), sender.frame(protocol.STDIN, b"2")
    assert [(protocol.STDIN, b"1")] == list(receiver.feed(first))
    with pytest.raises(ProtocolViolation):
        list(receiver.feed(first))
    _, other = _pair()
    with pytest.raises(ProtocolViolation):
        list(other.feed(second))


def test_a_frame_is_of_one_direction_and_one_connection() -> None:
    """What one side says cannot be sent back to it, nor into another connection."""
    sender, _ = _pair()
    frame = sender.frame(protocol.COMMAND, b"ls")
    for receiver in (
        Receiver(_KEY, "server", _OURS, _THEIRS),
        Receiver(_KEY, "client", _OURS, b"x" * 32),
        Receiver(protocol.derive_key(b"o" * 32), "client", _OURS, _THEIRS),
    ):
        with pytest.raises(ProtocolViolation):
            list(receiver.feed(frame))


def test_a_proof_is_of_one_side_and_one_pair_of_numbers() -> None:
    proof = protocol.proof(_KEY, "client", _OURS, _THEIRS)
    judged = [
        protocol.verify(_KEY, "client", _OURS, _THEIRS, proof),
        protocol.verify(_KEY, "server", _OURS, _THEIRS, proof),
        protocol.verify(_KEY, "client", _OURS, b"x" * 32, proof),
        protocol.verify(_KEY, "client", b"x" * 32, _THEIRS, proof),
        protocol.verify(protocol.derive_key(b"o" * 32), "client", _OURS, _THEIRS, proof),
        protocol.verify(_KEY, "client", _OURS, _THEIRS, proof[:-1]),
        protocol.verify(_KEY, "client", _OURS, _THEIRS, b""),
    ]
    assert [True, *[False] * 6] == judged


def test_a_frame_that_is_too_long_is_not_waited_for() -> None:
    _, receiver = _pair()
    with pytest.raises(ProtocolViolation):
        list(receiver.feed(b"I\xff\xff\xff\xff"))


@pytest.mark.parametrize("secret", [b"", b"short", b"\n" * 64])
def test_a_short_text_is_no_secret(secret: bytes) -> None:
    with pytest.raises(ValueError, match="a secret 16 or more"):
        protocol.derive_key(secret)
