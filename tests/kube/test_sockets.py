"""Connections over plain and TLS sockets."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable

import httpcore
import pytest
from fake_api.certificates import Authority

from dlf.kube.connect import SocketBackend
from dlf.kube.poller import running_poller
from dlf.kube.sockets import SocketStream

MEGABYTES = bytes(range(256)) * 20_000
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def send_all(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(MEGABYTES)
    await writer.drain()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.readexactly(len(MEGABYTES)))
    await writer.drain()


async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def talk(
    serve: Serve, client: Callable[[SocketStream], Awaitable[None]], *, tls: bool = False
) -> None:
    """Run a client against a server."""
    authority = Authority()

    async def scenario() -> None:
        context = authority.server() if tls else None
        served = asyncio.Event()

        async def serve_and_close(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            with contextlib.suppress(OSError):
                await serve(reader, writer)
                writer.close()
                await writer.wait_closed()
            served.set()

        server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server:
            stream = await SocketBackend().connect_tcp("127.0.0.1", port, timeout=5)
            if tls:
                trust = ssl.create_default_context(cadata=authority.pem.decode())
                stream = await stream.start_tls(trust, "127.0.0.1", timeout=5)
            try:
                await client(stream)
            finally:
                await stream.aclose()
            await served.wait()

    asyncio.run(scenario())


async def read_all(stream: SocketStream) -> bytes:
    parts = []
    while data := await stream.read(65536, timeout=5):
        parts.append(data)
    return b"".join(parts)


@pytest.mark.parametrize("tls", [False, True])
def test_socket_reads_to_the_end(tls: bool) -> None:
    """All bytes come, in order, and then the end of the connection."""

    async def client(stream: SocketStream) -> None:
        assert MEGABYTES == await read_all(stream)

    talk(send_all, client, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
def test_socket_sends_more_than_the_kernel_takes_at_once(tls: bool) -> None:
    """A large request is sent in as many parts as it takes."""

    async def client(stream: SocketStream) -> None:
        await stream.write(MEGABYTES, timeout=5)
        assert MEGABYTES == await read_all(stream)

    talk(echo, client, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
def test_socket_that_nobody_reads_costs_no_time(tls: bool) -> None:
    """While its reader is busy elsewhere a readable connection does not wake the loop."""

    async def client(stream: SocketStream) -> None:
        got = await stream.read(65536, timeout=5)
        await asyncio.sleep(0.05)
        assert not running_poller()._callbacks
        assert MEGABYTES == got + await read_all(stream)

    talk(send_all, client, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("size", [100, 5_000, 50_000])
def test_socket_tells_the_end_that_came_with_the_last_bytes(tls: bool, size: int) -> None:
    """Also to a reader whose bytes were all taken in the callback, and to one that comes late."""
    text = MEGABYTES[:size]

    async def send(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)

    async def client(stream: SocketStream) -> None:
        await asyncio.sleep(0.05)
        taken: list[bytes] = []

        def take(data: bytes) -> bool:
            taken.append(data)
            return True

        assert b"" == await asyncio.wait_for(stream.receive(take), 5)
        assert text == b"".join(taken)
        assert b"" == await stream.read(65536, timeout=5)

    talk(send, client, tls=tls)


def test_socket_remembers_what_came_with_the_head() -> None:
    """The last bytes read, and three before them, so that the end of a head is found."""

    async def client(stream: SocketStream) -> None:
        got = await stream.read(65536, timeout=5)
        assert got == stream.recent
        more = await stream.read(65536, timeout=5)
        assert got[-3:] + more == stream.recent

    talk(send_all, client)


def test_socket_says_when_nothing_comes_in_time() -> None:
    """A read with a limit ends with httpcore's own exception; the connection still works."""

    async def client(stream: SocketStream) -> None:
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(65536, timeout=0.01)
        assert not stream.get_extra_info("is_readable")

    talk(keep_silent, client)


def test_socket_says_what_broke() -> None:
    """A reset connection is a ReadError."""

    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)  # closing resets
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def client(stream: SocketStream) -> None:
        with pytest.raises(httpcore.ReadError):
            await read_all(stream)

    talk(reset, client)


def test_socket_knows_both_ends_and_its_tls() -> None:
    """What httpcore asks of a connection."""

    async def client(stream: SocketStream) -> None:
        assert "127.0.0.1" == stream.get_extra_info("client_addr")[0]
        assert "127.0.0.1" == stream.get_extra_info("server_addr")[0]
        assert "TLSv1.3" == stream.get_extra_info("ssl_object").version()
        assert stream.get_extra_info("unknown") is None

    talk(keep_silent, client, tls=True)


def test_socket_trusts_nobody_unknown() -> None:
    """A certificate of another authority is refused, with the reason as cause."""
    authority = Authority()

    async def scenario() -> None:
        server = await asyncio.start_server(keep_silent, "127.0.0.1", 0, ssl=authority.server())
        async with server:
            port = server.sockets[0].getsockname()[1]
            stream = await SocketBackend().connect_tcp("127.0.0.1", port)
            with pytest.raises(httpcore.ConnectError) as error:
                await stream.start_tls(ssl.create_default_context(), "127.0.0.1", timeout=5)
            assert isinstance(error.value.__cause__, ssl.SSLCertVerificationError)

    asyncio.run(scenario())


def test_socket_says_that_nobody_listens() -> None:
    """A refused connection is a ConnectError."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(httpcore.ConnectError):
        asyncio.run(SocketBackend().connect_tcp("127.0.0.1", port))


def test_socket_tries_every_address_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose first address does not answer is reached at its second."""

    async def client(stream: SocketStream) -> None:
        port = stream.get_extra_info("server_addr")[1]
        addresses = [(socket.AF_INET, ("127.0.0.1", 1)), (socket.AF_INET, ("127.0.0.1", port))]

        async def resolve(*_: object) -> object:
            return addresses

        monkeypatch.setattr("dlf.kube.connect._resolve", resolve)
        again = await SocketBackend().connect_tcp("two.example", port, timeout=5)
        assert MEGABYTES == await read_all(again)
        await again.aclose()

    talk(send_all, client)


def test_socket_asks_for_the_addresses_of_a_name() -> None:
    """Names are resolved, addresses are taken as they are."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        async def scenario() -> None:
            stream = await SocketBackend().connect_tcp("localhost", port, timeout=5)
            await stream.aclose()

        asyncio.run(scenario())


def test_socket_gives_up_connecting_in_time() -> None:
    """An address that swallows packets is a ConnectTimeout."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        held = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            held.append(filler)
        with pytest.raises(httpcore.ConnectTimeout):
            asyncio.run(SocketBackend().connect_tcp("127.0.0.1", port, timeout=0.1))
        for filler in held:
            filler.close()
