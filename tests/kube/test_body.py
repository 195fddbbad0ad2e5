"""Bodies cut out of their frames, however the network cuts the frames."""

import asyncio
import itertools
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from dlf.kube.body import Chunks, Counted, LogBody
from dlf.kube.transport import make_transport

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
    """Body in, frames around it, cut anywhere: the body comes out, and the end is known."""
    wire = b"".join(head % len(chunk) + chunk + b"\r\n" for chunk in chunks) + end
    frames = Chunks()
    got = b"".join(frames.feed(piece) for piece in pieces(wire, cuts))
    assert b"".join(chunks) == got
    assert frames.done
    assert frames.end()


@given(CHUNKS.filter(bool), st.data())
def test_chunks_are_not_done_before_their_end(chunks: list[bytes], data: st.DataObject) -> None:
    """A connection that ends inside the frames has not ended the body."""
    wire = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    frames = Chunks()
    frames.feed(wire[: data.draw(st.integers(1, len(wire) - 1))])
    assert not frames.end()


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
    frames = Chunks()
    with pytest.raises(httpcore.RemoteProtocolError):
        frames.feed(wire)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_counted_ends_with_its_last_byte(body: bytes, cuts: list[int]) -> None:
    """Content-Length bytes are the body; without a length the connection's end is its end."""
    counted, until_closed = Counted(len(body)), Counted(None)
    parts = pieces(body, cuts)
    assert body == b"".join(counted.feed(part) for part in parts)
    assert body == b"".join(until_closed.feed(part) for part in parts)
    assert counted.done
    assert counted.end()
    assert until_closed.end()
    assert not until_closed.done


def served(*parts: bytes, url: str = "/pods/p/log") -> tuple[list[bytes], Exception | None]:
    """What LogBody reads of an answer that comes in these parts, and how it ended."""
    read: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            while not connection.recv(65536).endswith(b"\r\n\r\n"):
                pass
            for part in parts:
                connection.sendall(part)
                time.sleep(0.01)  # so that parts do not become one

    async def scenario() -> Exception | None:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = make_transport(ssl.create_default_context(), "")
        async with (
            httpx.AsyncClient(transport=transport, base_url=base) as client,
            client.stream("GET", url) as response,
        ):
            body = LogBody(response)
            try:
                while data := await body.read():
                    read.append(data)
                assert b"" == await body.read()
            except (httpcore.ProtocolError, OSError) as error:
                return error
            return None

    server = threading.Thread(target=serve)
    server.start()
    with listener:
        error = asyncio.run(scenario())
        server.join()
    return read, error


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("url", ["/pods/p/log", "/pods?watch=true"])
@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"], id="all with the head"),
        pytest.param([CHUNKED + b"3\r\na", b"bc\r\n0", b"\r\n\r\n"], id="chunks in parts"),
        pytest.param([CHUNKED[:-1], CHUNKED[-1:], b"3\r\nabc\r\n0\r\n\r\n"], id="head in parts"),
        pytest.param([HEAD + b"Content-Length: 3\r\n\r\na", b"bc"], id="length"),
        pytest.param([HEAD + b"Connection: close\r\n\r\na", b"bc"], id="until closed"),
    ],
)
def test_body_is_read_to_its_end(parts: list[bytes], url: str) -> None:
    """Every way to frame a body; also what came together with the head."""
    read, error = served(*parts, url=url)
    assert (b"abc", None) == (b"".join(read), error)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([CHUNKED + b"3\r\na"], id="inside a chunk"),
        pytest.param([CHUNKED + b"1\r\na\r\n"], id="between chunks"),
        pytest.param([HEAD + b"Content-Length: 3\r\n\r\na"], id="length"),
    ],
)
def test_body_cut_short_is_an_error(parts: list[bytes]) -> None:
    """A connection that ends too early is not the end of the body."""
    read, error = served(*parts)
    assert b"a" == b"".join(read)
    assert isinstance(error, httpcore.RemoteProtocolError)


class Parts(httpx.AsyncByteStream):
    """A body that comes in two parts."""

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"a"
        yield b"bc"


def test_body_without_our_sockets_is_httpx_own() -> None:
    """Where the connection is another's, the body comes through httpx."""

    async def scenario() -> bytes:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Parts()))
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://x") as client,
            client.stream("GET", "/") as response,
        ):
            body = LogBody(response)
            return await body.read() + await body.read()

    assert b"abc" == asyncio.run(scenario())
