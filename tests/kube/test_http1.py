"""HTTP/1.1 over real sockets: heads and bodies as servers send them, well or not."""

import asyncio
import socket
import ssl
import threading
import time
from contextlib import suppress

import httpx
import pytest

from dlf.kube.http1 import Body
from dlf.kube.transport import BODY, Transport


def served(*parts: bytes) -> tuple[list[bytes], Exception | None]:
    """What is read of a response that comes in these parts, and how it ended."""
    read: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(ConnectionError):  # a client that has read enough hangs up
            while not connection.recv(65536).endswith(b"\r\n\r\n"):
                pass
            for part in parts:
                connection.sendall(part)
                time.sleep(0.01)  # so that parts do not become one

    async def scenario() -> Exception | None:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = Transport(base, ssl.create_default_context())
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            try:
                async with client.stream("GET", "/pods/p/log") as response:
                    body: Body = response.extensions[BODY]
                    while data := await body.read():
                        read.append(data)
                    assert b"" == await body.read()
            except (httpx.RemoteProtocolError, EOFError, OSError) as error:
                return error
            return None

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with listener:
        error = asyncio.run(scenario())
        server.join()
    return read, error


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"], id="all with the head"),
        pytest.param([CHUNKED + b"3\r\na", b"bc\r\n0", b"\r\n\r\n"], id="chunks in parts"),
        pytest.param([CHUNKED[:-1], CHUNKED[-1:], b"3\r\nabc\r\n0\r\n\r\n"], id="head in parts"),
        pytest.param([HEAD + b"Content-Length: 3\r\n\r\na", b"bc"], id="length"),
        pytest.param([HEAD + b"Connection: close\r\n\r\na", b"bc"], id="until closed"),
        pytest.param([b"HTTP/1.0 200 OK\r\n\r\na", b"bc"], id="HTTP/1.0"),
        pytest.param([CHUNKED.replace(b"\r", b"") + b"3\r\nabc\r\n0\r\n\r\n"], id="bare LF"),
        pytest.param(
            [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + CHUNKED, b"3\r\nabc\r\n0\r\n\r\n"],
            id="103 first",
        ),
        pytest.param(
            [
                b"HTTP/1.1 100 Continue\r\n\r\n",
                b"HTTP/1.1 102 \r\n\r\n" + CHUNKED,
                b"3\r\nabc\r\n",
                b"0\r\n\r\n",
            ],
            id="100 and 102 first",
        ),
    ],
)
def test_body_is_read_to_its_end(parts: list[bytes]) -> None:
    """Every way to frame a body; also what came together with the head."""
    read, error = served(*parts)
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
    assert isinstance(error, httpx.RemoteProtocolError)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param([b"SSH-2.0-x\r\n\r\n"], "illegal status line", id="another protocol"),
        pytest.param([HEAD + b"Content-Length: x\r\n\r\n"], "bad Content-Length", id="length"),
        pytest.param([HEAD + b"X: y" * 50_000], "Receive buffer too long", id="endless head"),
        pytest.param([HEAD + b"X:"], "peer unexpectedly closed", id="cut short"),
    ],
)
def test_head_that_is_not_http_is_an_error(parts: list[bytes], words: str) -> None:
    """And says what is wrong with it."""
    read, error = served(*parts)
    assert [] == read
    assert isinstance(error, httpx.RemoteProtocolError)
    assert words in str(error)


def test_connection_that_ends_without_a_response_says_so() -> None:
    """Nothing came at all."""
    assert "EOFError: the server closed the connection without a response" == (
        f"{type(error := served()[1]).__name__}: {error}"
    )
