"""Bodies decoded from their framing, however the network cuts it."""

import itertools

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlf.kube.body_framing import ChunkedDecoder, LengthDecoder, make_decoder

CHUNKS = st.lists(st.binary(min_size=1, max_size=300), max_size=20)
ENDS = st.sampled_from([b"0\r\n\r\n", b"000\r\n\r\n", b"0;last\r\nTrailer: x\r\nMore: y\r\n\r\n"])
HEADS = st.sampled_from([b"%x\r\n", b"%X\r\n", b"00%x\r\n", b"%x;name=value\r\n", b"%x \r\n"])


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data cut at these places."""
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places) if start < end]


@given(CHUNKS, ENDS, HEADS, st.lists(st.integers(0, 10_000), max_size=30))
def test_chunks_give_the_body_for_any_cuts(
    chunks: list[bytes], end: bytes, head: bytes, cuts: list[int]
) -> None:
    """A body in chunks, cut anywhere, is decoded, and its end is known."""
    wire = b"".join(head % len(chunk) + chunk + b"\r\n" for chunk in chunks) + end
    decoder = ChunkedDecoder()
    got = b"".join(decoder.decode(piece) for piece in pieces(wire, cuts))
    assert b"".join(chunks) == got
    assert decoder.complete
    assert decoder.may_end()


@given(CHUNKS.filter(bool), st.data())
def test_chunks_are_not_done_before_their_end(chunks: list[bytes], data: st.DataObject) -> None:
    """A connection that ends inside a chunk has not ended the body."""
    wire = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    decoder = ChunkedDecoder()
    decoder.decode(wire[: data.draw(st.integers(1, len(wire) - 1))])
    assert not decoder.may_end()


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(b"x\r\n", id="no number"),
        pytest.param(b"-1\r\n", id="negative"),
        pytest.param(b"0x3\r\nabc\r\n", id="prefix"),
        pytest.param(b"1_0\r\n", id="underscore"),
        pytest.param(b"\r\n", id="empty"),
        pytest.param(b"3\r\nabcd\r\n", id="longer than its size"),
        pytest.param(b"3" * 5000, id="endless number"),
        pytest.param(b"1" * 16 + b"\r\n", id="too large"),
    ],
)
def test_chunks_refuse_what_is_none(wire: bytes) -> None:
    """What is no chunk is an error, not a body."""
    decoder = ChunkedDecoder()
    with pytest.raises(httpx.RemoteProtocolError):
        decoder.decode(wire)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_counted_ends_with_its_last_byte(body: bytes, cuts: list[int]) -> None:
    """Content-Length bytes are the body; without a length the connection's end is its end."""
    counted, until_closed = LengthDecoder(len(body)), LengthDecoder(None)
    parts = pieces(body, cuts)
    assert body == b"".join(counted.decode(part) for part in parts)
    assert body == b"".join(until_closed.decode(part) for part in parts)
    assert counted.complete
    assert counted.may_end()
    assert until_closed.may_end()
    assert not until_closed.complete


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (200, {"Transfer-Encoding": "Chunked"}, ChunkedDecoder),
        (200, {"Content-Length": "3"}, LengthDecoder),
        (200, {}, LengthDecoder),
    ],
)
def test_decoder_is_chosen_by_the_headers(
    status: int, headers: dict[str, str], expected: type
) -> None:
    """Chunks, a length, or neither: until the connection ends."""
    assert expected is type(make_decoder(status, httpx.Headers(headers)))


@pytest.mark.parametrize("status", [204, 304])
def test_response_without_a_body_is_complete_at_once(status: int) -> None:
    """Its connection can be used again without reading."""
    assert make_decoder(status, httpx.Headers({})).complete
