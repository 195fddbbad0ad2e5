"""Connections over plain and TLS sockets."""

import asyncio
import contextlib
import os
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable

import pytest
import virtual_loop
from fake_api.certificates import Authority
from waiting import PATIENCE

from dlf.kube import connect
from dlf.kube.connect import connect_tcp
from dlf.kube.poller import running_pollers
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
    serve: Serve,
    client: Callable[[SocketStream], Awaitable[None]],
    *,
    tls: bool = False,
    virtual: bool = False,
) -> None:
    """Run a client against a server, with the time of a clock or of a virtual one."""
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
            stream = await connect_tcp("127.0.0.1", port, PATIENCE)
            if tls:
                trust = ssl.create_default_context(cadata=authority.pem.decode())
                await stream.start_tls(trust, "127.0.0.1")
            try:
                async with asyncio.timeout(PATIENCE):
                    await client(stream)
            finally:
                stream.close()
            await served.wait()

    (virtual_loop.run if virtual else asyncio.run)(scenario())


async def read_all(stream: SocketStream) -> bytes:
    parts = []
    while data := await stream.receive():
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
        await stream.send(MEGABYTES)
        assert MEGABYTES == await read_all(stream)

    talk(echo, client, tls=tls)


@pytest.mark.parametrize("tls", [False, True])
def test_socket_that_is_read_in_bulk_takes_many_small_pieces_at_once(tls: bool) -> None:
    """All of them, and in order; afterwards it is read at once again."""
    pieces = [b"%07d\n" % number for number in range(200)]

    async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        writer.write(await reader.read(3))

    async def client(stream: SocketStream) -> None:
        stream.read_in_bulk(True)
        got: list[bytes] = []
        while len(b"".join(got)) < len(b"".join(pieces)):
            got.append(await stream.receive())
        assert pieces == b"".join(got).splitlines(keepends=True)
        assert len(got) < len(pieces) / 4
        stream.read_in_bulk(False)
        assert not running_pollers().bulk._callbacks
        await stream.send(b"end")
        assert b"end" == await stream.receive()

    talk(server, client, tls=tls, virtual=True)


@pytest.mark.parametrize("tls", [False, True])
def test_socket_that_nobody_reads_costs_no_time(tls: bool) -> None:
    """While its reader is busy elsewhere a readable connection does not wake the loop."""

    async def client(stream: SocketStream) -> None:
        got = await stream.receive()
        while running_pollers().prompt._callbacks:
            await asyncio.sleep(0.01)
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

        assert b"" == await stream.receive(take)
        assert text == b"".join(taken)
        assert b"" == await stream.receive()

    talk(send, client, tls=tls)


def test_socket_knows_whether_there_is_something_to_read() -> None:
    """Neither bytes nor the end: an idle connection that can be used."""

    async def client(stream: SocketStream) -> None:
        assert not stream.is_readable()

    talk(keep_silent, client)


def test_socket_says_what_broke() -> None:
    """A reset connection is an error, not an end."""

    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)  # closing resets
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def client(stream: SocketStream) -> None:
        with pytest.raises(ConnectionResetError):
            await read_all(stream)

    talk(reset, client)


def test_socket_says_that_tls_was_cut_off() -> None:
    """The end of a TLS connection that its peer did not announce may be an attacker's."""

    async def cut(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"text")
        await writer.drain()
        sock = writer.get_extra_info("socket")
        os.dup2(os.open(os.devnull, os.O_RDONLY), sock.fileno())

    async def client(stream: SocketStream) -> None:
        assert b"text" == await stream.receive()
        with pytest.raises(ssl.SSLEOFError):
            await stream.receive()

    talk(cut, client, tls=True)


def test_socket_gives_what_came_before_a_broken_record() -> None:
    """Bytes that are good are returned; the next read says what is wrong."""
    authority = Authority()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = authority.server().wrap_bio(incoming, outgoing, server_side=True)
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    incoming.write(connection.recv(65536))
            tls.write(b"good")
            connection.sendall(outgoing.read() + b"\x17\x03\x03\x00\x20" + b"?" * 32)
            connection.recv(1)

    async def scenario() -> None:
        stream = await connect_tcp("127.0.0.1", listener.getsockname()[1], PATIENCE)
        trust = ssl.create_default_context(cadata=authority.pem.decode())
        await stream.start_tls(trust, "127.0.0.1")
        assert b"good" == await stream.receive()
        for _ in range(2):
            with pytest.raises(ssl.SSLError, match="BAD_RECORD_MAC"):
                await stream.receive()
        stream.close()

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with listener:
        asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
        server.join()


def test_socket_trusts_nobody_unknown() -> None:
    """A certificate of another authority is refused."""
    authority = Authority()

    async def scenario() -> None:
        server = await asyncio.start_server(keep_silent, "127.0.0.1", 0, ssl=authority.server())
        async with server:
            port = server.sockets[0].getsockname()[1]
            stream = await connect_tcp("127.0.0.1", port, PATIENCE)
            with pytest.raises(ssl.SSLCertVerificationError):
                await stream.start_tls(ssl.create_default_context(), "127.0.0.1")
            stream.close()

    asyncio.run(scenario())


def test_socket_says_that_nobody_listens() -> None:
    """A refused connection is told as such."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(connect_tcp("127.0.0.1", port, PATIENCE))


def test_socket_tries_every_address_of_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose first address does not answer is reached at its second."""

    async def client(stream: SocketStream) -> None:
        port = stream._sock.getpeername()[1]
        addresses = [(socket.AF_INET, ("127.0.0.1", 1)), (socket.AF_INET, ("127.0.0.1", port))]

        async def resolve(*_: object) -> object:
            return addresses

        monkeypatch.setattr(connect, "_resolve", resolve)
        again = await connect_tcp("two.example", port, PATIENCE)
        assert MEGABYTES == await read_all(again)
        again.close()

    talk(send_all, client)


def test_socket_asks_for_the_addresses_of_a_name() -> None:
    """Names are resolved, addresses are taken as they are."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        async def scenario() -> None:
            (await connect_tcp("localhost", port, PATIENCE)).close()

        asyncio.run(scenario())


def test_socket_gives_up_connecting_in_time() -> None:
    """An address that swallows packets is given up in time."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        held = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            held.append(filler)
        with pytest.raises(TimeoutError):
            asyncio.run(connect_tcp("127.0.0.1", port, 0.1))
        for filler in held:
            filler.close()
