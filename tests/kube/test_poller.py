"""Many sockets behind one descriptor of the event loop."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from dlf.kube.poller import Poller, running_poller


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Three connections."""
    with ExitStack() as stack:
        made = [socket.socketpair() for _ in range(3)]
        for pair in made:
            for each in pair:
                each.setblocking(False)
                stack.enter_context(each)
        yield made


def test_poller_calls_back_for_each_socket_as_long_as_it_is_readable(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """Bytes that are left call again."""
    got: list[tuple[int, bytes]] = []

    async def scenario() -> None:
        poller = Poller()

        def on_readable(index: int) -> None:
            got.append((index, pairs[index][0].recv(2)))

        for index, (ours, theirs) in enumerate(pairs):
            poller.add(ours.fileno(), partial(on_readable, index))
            theirs.send(b"abc"[: index + 1])
        while len(got) < 4:
            await asyncio.sleep(0)
        for ours, _ in pairs:
            poller.remove(ours.fileno())

    asyncio.run(scenario())
    assert [(0, b"a"), (1, b"ab"), (2, b"ab"), (2, b"c")] == sorted(got)


def test_poller_does_not_call_back_for_what_another_callback_removed(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """Two are ready at once; the first closes the second."""
    called: list[int] = []

    async def scenario() -> None:
        poller = Poller()
        fds = [ours.fileno() for ours, _ in pairs[:2]]

        def on_readable(index: int) -> None:
            called.append(index)
            for fd in fds:
                poller.remove(fd)

        for index, fd in enumerate(fds):
            poller.add(fd, partial(on_readable, index))
            pairs[index][1].send(b"x")
        while not called:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)

    asyncio.run(scenario())
    assert 1 == len(called)


def test_poller_leaves_nothing_open_when_nothing_is_watched(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """And begins anew."""
    got: list[bytes] = []

    async def scenario() -> None:
        ours, theirs = pairs[0]
        poller = running_poller()
        assert poller is running_poller()
        for text in (b"1", b"2"):
            with socket.socket() as probe:
                lowest = probe.fileno()
            poller.add(ours.fileno(), lambda: got.append(ours.recv(9)))
            theirs.send(text)
            while got[-1:] != [text]:
                await asyncio.sleep(0)
            poller.remove(ours.fileno())
            with socket.socket() as probe:
                assert lowest == probe.fileno()

    asyncio.run(scenario())
    assert [b"1", b"2"] == got
