"""Standard output: nothing dropped, nothing torn, the event loop never blocked."""

import asyncio
import contextlib
import fcntl
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from owned_process import OwnedProcess

from dlf.footer import Footer
from dlf.logs.writer import HIGH_WATER_BYTES, PIPE_BUF, OutputClosed, Writer

LINES = b"".join(b"%06d %s\n" % (number, b"x" * (number % 300)) for number in range(20_000))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def read_all(fd: int) -> bytes:
    return b"".join(iter(lambda: os.read(fd, 65536), b""))


def without_reopening(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container where opening /proc/self/fd/1 is forbidden."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dlf.logs.writer.os.open", refuse)


@pytest.fixture(params=["reopened", "polled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "polled":
        without_reopening(monkeypatch)
    return str(request.param)


async def write_in(writer: Writer, text: bytes, size: int) -> None:
    """Write whole lines in batches of about `size` bytes."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", min(start + size, len(text) - 1)) + 1
        await writer.write(text[start:end])
        start = end


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1, 3000, 200_000])
def test_writer_gives_a_slow_reader_every_byte(pipe: tuple[int, int], size: int) -> None:
    """Whatever the batches, the reader gets all lines in order."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(read_all(pipe[0])))

    async def scenario() -> None:
        writer = Writer(pipe[1])
        reader.start()
        await write_in(writer, LINES, size)
        await writer.wait_drained()
        writer.close()
        os.close(pipe[1])

    asyncio.run(scenario())
    reader.join()
    assert LINES == got[0]


@pytest.mark.usefixtures("way")
def test_writer_keeps_no_line_back_that_fills_a_piece(pipe: tuple[int, int]) -> None:
    """The first of many live lines are read while the others are still being taken."""
    lines = LINES.splitlines(keepends=True)[:300]  # less than a pipe holds

    async def scenario() -> None:
        writer = Writer(pipe[1])
        taken = 0
        for line in lines:
            writer.put(line)
            taken += len(line)
            assert writer.waiting <= PIPE_BUF
        got = os.read(pipe[0], taken)
        assert got.endswith(b"\n")
        assert taken - PIPE_BUF <= len(got) < taken
        await writer.wait_drained()
        assert b"".join(lines) == got + os.read(pipe[0], taken)
        writer.close()

    asyncio.run(scenario())


@pytest.mark.usefixtures("way")
def test_writer_never_blocks_the_loop_and_takes_little(pipe: tuple[int, int]) -> None:
    """With a reader that reads nothing, writers wait and everything else goes on."""

    async def scenario() -> None:
        writer = Writer(pipe[1])
        tasks = [asyncio.create_task(write_in(writer, LINES, 50_000)) for _ in range(20)]
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)
        waiting = writer.waiting
        assert HIGH_WATER_BYTES < waiting < HIGH_WATER_BYTES + 20 * 51_000
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()

    asyncio.run(scenario())


@pytest.mark.usefixtures("way")
def test_writer_leaves_the_descriptor_as_it_was(pipe: tuple[int, int]) -> None:
    """O_NONBLOCK is shared with other users of the pipe, so it is not touched."""

    async def scenario() -> None:
        writer = Writer(pipe[1])
        await writer.write(b"line\n")
        await writer.wait_drained()
        assert not fcntl.fcntl(pipe[1], fcntl.F_GETFL) & os.O_NONBLOCK
        writer.close()

    asyncio.run(scenario())
    os.write(pipe[1], b"still open\n")
    os.close(pipe[1])
    assert b"line\nstill open\n" == read_all(pipe[0])


@pytest.mark.usefixtures("way")
def test_writer_lets_others_write_between_lines_only(pipe: tuple[int, int]) -> None:
    """Another writer of the same pipe never gets inside one of our lines."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(read_all(pipe[0])))

    async def scenario() -> None:
        writer = Writer(pipe[1])
        reader.start()
        writing = asyncio.create_task(write_in(writer, LINES, 100_000))
        while not writing.done():
            await asyncio.to_thread(os.write, pipe[1], b"notice\n")
        await writing
        await writer.wait_drained()
        writer.close()
        os.close(pipe[1])

    asyncio.run(scenario())
    reader.join()
    assert max(map(len, LINES.split(b"\n"))) < PIPE_BUF
    lines = got[0].split(b"\n")
    assert LINES.split(b"\n") == [line for line in lines if line != b"notice"]


@pytest.mark.usefixtures("way")
def test_writer_says_that_its_reader_has_gone(pipe: tuple[int, int]) -> None:
    """`| head -1`: the owner hears it once, every write raises, nothing else happens."""
    told: list[OutputClosed] = []

    async def scenario() -> None:
        writer = Writer(pipe[1], told.append)
        os.close(pipe[0])
        await writer.write(b"line\n")
        await writer.wait_drained()
        with pytest.raises(OutputClosed):
            await writer.write(b"line\n")
        assert not writer.flush(1)
        writer.close()

    asyncio.run(scenario())
    assert [""] == [closed.reason for closed in told]


@pytest.mark.usefixtures("way")
def test_writer_wakes_who_waits_when_the_reader_goes(pipe: tuple[int, int]) -> None:
    """A write that waited for room ends with OutputClosed too."""

    async def scenario() -> None:
        writer = Writer(pipe[1])
        waiting = asyncio.create_task(writer.write(b"x" * (2 * HIGH_WATER_BYTES) + b"\n"))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        os.close(pipe[0])
        with pytest.raises(OutputClosed):
            await waiting
        writer.close()

    asyncio.run(scenario())


def test_writer_loses_nothing_of_a_cancelled_write(pipe: tuple[int, int]) -> None:
    """What a cancelled caller handed over is written all the same."""

    async def scenario() -> None:
        writer = Writer(pipe[1])
        line = b"x" * (2 * HIGH_WATER_BYTES) + b"\n"
        writing = asyncio.create_task(writer.write(line))
        await asyncio.sleep(0)
        writing.cancel()
        got = await asyncio.to_thread(lambda: os.read(pipe[0], 1))
        while len(got) < len(line):
            got += await asyncio.to_thread(os.read, pipe[0], 65536)
        assert line == got
        writer.close()

    asyncio.run(scenario())


def test_writer_flushes_at_the_end_within_a_time(pipe: tuple[int, int]) -> None:
    """A reader that takes nothing costs the time that was given, and the answer is no."""

    async def scenario() -> bool:
        writer = Writer(pipe[1])
        await writer.write(b"x" * 500_000 + b"\n")
        return writer.flush(0.05)

    assert not asyncio.run(scenario())


@pytest.mark.parametrize(
    "where", [pytest.param(lambda folder: folder / "out", id="file"), lambda _: Path("/dev/null")]
)
def test_writer_writes_files_directly(tmp_path: Path, where: Callable[[Path], Path]) -> None:
    """Regular files and /dev/null are never waited for."""
    path = where(tmp_path)

    async def scenario() -> None:
        with path.open("wb") as file:
            writer = Writer(file.fileno())
            await write_in(writer, LINES, 3000)
            await writer.wait_drained()
            writer.close()

    asyncio.run(scenario())
    assert path.read_bytes() == (LINES if path.parent == tmp_path else b"")


def test_writer_tells_a_full_file_system() -> None:
    """No space left is an error in words, not a silent end."""
    told: list[OutputClosed] = []

    async def scenario() -> None:
        with Path("/dev/full").open("wb") as file:
            writer = Writer(file.fileno(), told.append)
            await writer.write(b"line\n")
            await writer.wait_drained()
            writer.close()

    asyncio.run(scenario())
    assert ["standard output: No space left on device"] == [closed.reason for closed in told]


def test_writer_serves_a_terminal() -> None:
    """A terminal that is read slowly gets every line."""
    leader, follower = os.openpty()
    text = LINES[:30_000].rpartition(b"\n")[0] + b"\n"
    got: list[bytes] = []

    def read() -> None:
        size = 0
        while size < len(text) + text.count(b"\n"):  # the terminal adds a return to each newline
            got.append(os.read(leader, 1000))
            size += len(got[-1])

    reader = threading.Thread(target=read)

    async def scenario() -> None:
        writer = Writer(follower)
        reader.start()
        await write_in(writer, text, 5000)
        await writer.wait_drained()
        writer.close()

    asyncio.run(scenario())
    reader.join()
    assert text == b"".join(got).replace(b"\r\n", b"\n")
    os.close(leader)
    os.close(follower)


def test_writer_serves_a_socket() -> None:
    """Some supervisors give a socket as standard output; it cannot be opened again."""
    script = (
        "import asyncio, sys\n"
        "from dlf.logs.writer import Writer\n"
        "async def main():\n"
        "    writer = Writer(1)\n"
        "    for number in range(50000): await writer.write(b'%06d\\n' % number)\n"
        "    await writer.wait_drained()\n"
        "    writer.close()\n"
        "asyncio.run(main())\n"
    )
    ours, theirs = socket.socketpair()
    with OwnedProcess[bytes]([sys.executable, "-c", script], stdout=theirs.fileno()) as process:
        theirs.close()
        got = b"".join(iter(lambda: ours.recv(65536), b""))
    ours.close()
    assert 0 == process.returncode
    assert b"".join(b"%06d\n" % number for number in range(50_000)) == got


def test_writer_writes_in_the_turn_in_which_lines_come(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lone line is there at once; the lines of one turn of the event loop are one write."""
    sizes: list[int] = []
    write = os.write

    def counted(fd: int, data: bytes) -> int:
        sizes.append(write(fd, data))
        return sizes[-1]

    monkeypatch.setattr("dlf.logs.writer.os.write", counted)

    async def scenario() -> None:
        writer = Writer(pipe[1])
        for count in (1, 1, 100):
            for _ in range(count):
                writer.put(b"0123456789\n")
            await asyncio.sleep(0)
        writer.close()

    asyncio.run(scenario())
    assert [11, 11, 1100] == sizes


def test_writer_takes_the_footer_away_before_the_next_line(pipe: tuple[int, int]) -> None:
    """A preview replaces the one before; lines take its place, and the status line comes again."""

    async def scenario() -> None:
        footer = Footer(pipe[1])
        writer = Writer(pipe[1], footer=footer)
        writer.preview(b"p 1%")
        writer.preview(b"")
        writer.preview(b"p 2%")
        await writer.write(b"p done\n")
        await writer.wait_drained()
        footer.show_status("2 running")
        footer.show_status("2 running")
        writer.preview(b"p 3%")
        await writer.write(b"q\n")
        assert writer.flush(1)
        footer.clear()
        footer.clear()
        writer.close()
        footer.close()
        os.close(pipe[1])

    asyncio.run(scenario())
    begin, end, clear = b"\r\x1b[?7l", b"\x1b[J\x1b[?7h", b"\r\x1b[?7h\x1b[J"
    expected = [
        *(begin + b"p 1%" + end + b"\r", begin + b"p 2%" + end + b"\r"),
        *(clear + b"p done\n", begin + b"2 running" + end + b"\r"),
        begin + b"p 3%\x1b[K\r\n2 running" + end + b"\x1b[A\r",
        *(clear + b"q\n", begin + b"2 running" + end + b"\r", clear),
    ]
    assert b"".join(expected) == read_all(pipe[0])
