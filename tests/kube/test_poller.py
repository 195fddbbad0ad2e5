"""Many sockets behind one descriptor of the event loop."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import pytest
from virtual_loop import run

from dlf.kube.poller import Poller, running_pollers

INTERVALS = [0.0, 0.01]


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


@pytest.mark.parametrize("interval", INTERVALS)
def test_poller_calls_back_for_each_socket_as_long_as_it_is_readable(
    pairs: list[tuple[socket.socket, socket.socket]], interval: float
) -> None:
    """Bytes that are left call again."""
    got: list[tuple[int, bytes]] = []

    async def scenario() -> None:
        poller = Poller(interval)

        def on_readable(index: int) -> bool:
            got.append((index, pairs[index][0].recv(2)))
            return False

        for index, (ours, theirs) in enumerate(pairs):
            poller.add(ours.fileno(), partial(on_readable, index))
            theirs.send(b"abc"[: index + 1])
        while len(got) < 4:
            await asyncio.sleep(0)
        for ours, _ in pairs:
            poller.remove(ours.fileno())

    asyncio.run(scenario())
    assert [(0, b"a"), (1, b"ab"), (2, b"ab"), (2, b"c")] == sorted(got)


@pytest.mark.parametrize("interval", INTERVALS)
def test_poller_does_not_call_back_for_what_another_callback_removed(
    pairs: list[tuple[socket.socket, socket.socket]], interval: float
) -> None:
    """Two are ready at once; the first closes the second."""
    called: list[int] = []

    async def scenario() -> None:
        poller = Poller(interval)
        fds = [ours.fileno() for ours, _ in pairs[:2]]

        def on_readable(index: int) -> bool:
            called.append(index)
            for fd in fds:
                poller.remove(fd)
            return True

        for index, fd in enumerate(fds):
            poller.add(fd, partial(on_readable, index))
            pairs[index][1].send(b"x")
        while not called:
            await asyncio.sleep(0)
        await asyncio.sleep(3 * interval)

    asyncio.run(scenario())
    assert 1 == len(called)


def times_of_calls(
    pair: tuple[socket.socket, socket.socket], sent_at: float, answers: Sequence[bool]
) -> list[int]:
    """When a poller with an interval of 100 s calls back, whose calls get these answers in turn.

    A byte comes at `sent_at`, and is never read; all times are seconds from the beginning.
    """
    ours, theirs = pair
    times: list[int] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        poller, begun = Poller(100.0), loop.time()

        def on_readable() -> bool:
            times.append(round(loop.time() - begun))
            return answers[len(times) - 1]

        poller.add(ours.fileno(), on_readable)
        await asyncio.sleep(sent_at)
        theirs.send(b"x")
        while len(times) < len(answers):
            await asyncio.sleep(1)
        poller.remove(ours.fileno())

    run(scenario())
    return times


def test_poller_with_an_interval_waits_for_bytes_first(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """It does not look every now and then while nothing comes."""
    assert [1130] == times_of_calls(pairs[0], 1030, [False])


def test_poller_looks_again_at_once_while_there_may_be_more(
    pairs: list[tuple[socket.socket, socket.socket]],
) -> None:
    """And after its interval when there is not."""
    answers = [True, True, False] * 2
    assert [100, 100, 100, 200, 200, 200] == times_of_calls(pairs[0], 0, answers)


@pytest.mark.parametrize("kind", ["prompt", "bulk"])
def test_poller_leaves_nothing_open_when_nothing_is_watched(
    pairs: list[tuple[socket.socket, socket.socket]], kind: str
) -> None:
    """And begins anew."""
    got: list[bytes] = []

    async def scenario() -> None:
        ours, theirs = pairs[0]

        def read() -> bool:
            got.append(ours.recv(9))
            return False

        poller: Poller = getattr(running_pollers(), kind)
        assert poller is getattr(running_pollers(), kind)
        for text in (b"1", b"2"):
            with socket.socket() as probe:
                lowest = probe.fileno()
            poller.add(ours.fileno(), read)
            theirs.send(text)
            while got[-1:] != [text]:
                await asyncio.sleep(0)
            poller.remove(ours.fileno())
            with socket.socket() as probe:
                assert lowest == probe.fileno()

    asyncio.run(scenario())
    assert [b"1", b"2"] == got
