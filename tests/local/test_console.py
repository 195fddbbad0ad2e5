"""The printing of a container's output."""

import asyncio
import os
import select
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from dlf.footer import Footer
from dlf.local.console import MAX_LINE_BYTES, Console
from dlf.logs.instances import Target
from dlf.logs.log_end import EndBudget, LogEnd
from dlf.logs.log_options import LogOptions

TARGET = Target(pod="p", container="c", instance="0")


async def chunks(*parts: bytes) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part


def copy(output: Path, *parts: bytes) -> LogEnd:
    """Print the parts; return the last lines."""
    last = LogEnd(EndBudget())
    said: list[str] = []

    async def scenario() -> None:
        with output.open("wb") as file:
            console = Console(file.fileno(), LogOptions(), said.append)
            await console.copy(TARGET, chunks(*parts), last)
            await console.finish()
            console.close()

    asyncio.run(scenario())
    assert [] == said
    return last


@pytest.mark.parametrize(
    ("parts", "printed"),
    [
        pytest.param([b"a\nb\n"], b"p a\np b\n", id="lines"),
        pytest.param([b"a", b"b", b"\nc\n"], b"p ab\np c\n", id="a line in pieces"),
        pytest.param([b"a\nb"], b"p a\np b\n", id="no newline at the end"),
        pytest.param([b"\n\n"], b"p \np \n", id="empty lines"),
        pytest.param([], b"", id="nothing"),
        pytest.param([b"2026-01-02T03:04:05Z x\n"], b"p 2026-01-02T03:04:05Z x\n", id="own time"),
    ],
)
def test_copy_prints_lines_whole(tmp_path: Path, parts: list[bytes], printed: bytes) -> None:
    """However the output was cut into chunks, and whatever is in the lines."""
    copy(tmp_path / "out", *parts)
    assert printed == (tmp_path / "out").read_bytes()


def test_copy_prints_an_endless_line_in_pieces(tmp_path: Path) -> None:
    """Memory is bounded: a line without end is not waited for."""
    copy(tmp_path / "out", b"x" * MAX_LINE_BYTES, b"y", b"z")
    assert b"p " + b"x" * MAX_LINE_BYTES + b"y\np z\n" == (tmp_path / "out").read_bytes()


def test_copy_keeps_the_last_lines(tmp_path: Path) -> None:
    """Over chunks, without newlines."""
    last = copy(tmp_path / "out", b"".join(b"%d\n" % n for n in range(30)), b"y" * 1000)
    assert [*(b"%d" % n for n in range(30)), b"y" * 1000] == last.lines()


def available(source: int) -> bytes:
    """What is in the pipe now."""
    return os.read(source, 65536) if select.select([source], [], [], 0)[0] else b""


BARS = [
    pytest.param([b"10%\r20%\r"], 0.0, b"p 20%", id="progress bar"),
    pytest.param([b"Downloading"], 0.0, b"", id="text that just came"),
    pytest.param([b"Downloading"], 1.0, b"p Downloading", id="text after a second"),
    pytest.param([b"whole\n"], 1.0, b"", id="whole lines only"),
]


@pytest.mark.parametrize(("parts", "silence", "shown"), BARS)
@pytest.mark.parametrize("terminal", [True, False])
def test_unfinished_line_is_shown_on_a_terminal(
    parts: list[bytes], silence: float, shown: bytes, terminal: bool
) -> None:
    """The text after the last return, until the line is whole; never in a pipe or a file."""
    source, sink = os.pipe()
    began = time.monotonic()

    async def scenario() -> tuple[bytes, bytes]:
        footer = Footer(sink) if terminal else None
        console = Console(sink, LogOptions(terminal=terminal), print, footer)
        goes_on = asyncio.Event()

        async def output() -> AsyncGenerator[bytes, None]:
            for part in parts:
                yield part
            await goes_on.wait()
            yield b" done\n"

        copying = asyncio.create_task(console.copy(TARGET, output(), LogEnd(EndBudget())))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = available(source)
        for _ in range(2):  # once, and not again while nothing comes
            console.preview(time.monotonic() + silence if silence else began)
            await asyncio.sleep(0)
        preview = available(source)
        goes_on.set()
        await copying
        await console.finish()
        console.close()
        if footer:
            footer.close()
        return preview, before + available(source)

    preview, printed = asyncio.run(scenario())
    os.close(sink)
    os.close(source)
    expected = b"\r\x1b[?7l%b\x1b[J\x1b[?7h\r" % shown if shown and terminal else b""
    assert expected == preview
    exact = b"p " + b"".join(parts).replace(b"\n", b"\np ") + b" done\n"
    last = b"p whole\np  done\n" if parts == [b"whole\n"] else b"p Downloading done\n"
    if terminal:
        last = b"p  done\n" if b"\r" in parts[0] else last
        assert last == printed.removeprefix(b"\r\x1b[?7h\x1b[J" if preview else b"")
    else:
        assert exact == printed
