"""The lines at the bottom of a terminal: a real process on a real pseudo-terminal."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest
from owned_process import OwnedProcess
from pseudo_terminal import PseudoTerminal

from dlf.footer import Footer

STATUS = re.compile(r"dlf: \d+s, \d+ (running|succeeded|failed)(, \d+ \w+)*$")


@pytest.fixture
def terminal() -> Iterator[PseudoTerminal]:
    with closing(PseudoTerminal()) as made:
        yield made


class Gate:
    """What a job waits for, until the test has seen what it wants to see."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_closed = f"[ ! -e {path} ]"
        self.wait = f"while {self.is_closed}; do sleep 0.05; done"

    def open(self) -> None:
        self._path.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "open")


@contextmanager
def running(
    dlf_command: list[str],
    command: str,
    terminal: PseudoTerminal,
    *,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    ranks: int = 1,
    term: str | None = "xterm",
    **env: str,
) -> Iterator[subprocess.Popen[bytes]]:
    """A job on this machine, with the terminal as its own, as a shell would start it.

    When the block is left, the terminal is read until the job has ended.
    """
    side = terminal.process_side
    words = ["pytorch", "--runtime", "local", "--num_worker", str(ranks), "--command", command]
    outer = {key: value for key, value in os.environ.items() if key not in {"TERM", "NO_COLOR"}}
    with OwnedProcess[bytes](
        [*dlf_command, *words],
        stdin=subprocess.DEVNULL,
        stdout=side if stdout is None else stdout,
        stderr=side if stderr is None else stderr,
        env=outer | ({"TERM": term} if term else {}) | env,
        start_new_session=True,
    ) as process:
        yield process
        terminal.read_until(lambda: process.poll() is not None)
    terminal.read_rest()


def status(terminal: PseudoTerminal) -> list[str]:
    """The status lines that are on the screen."""
    return [row for row in terminal.rows() if STATUS.match(row)]


def log_lines(terminal: PseudoTerminal) -> list[str]:
    """The lines without dlf's own, without the pods' names."""
    lines = [line for line in terminal.lines() if line and not line.startswith("dlf: ")]
    return [line.partition(" ")[2] for line in lines]


def test_status_line_stands_below_the_lines(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate
) -> None:
    """It is there while lines come, on the last row, once; at the end nothing is left of it."""
    prints = "i=$((i + 1)); echo line $i of rank $RANK; sleep 0.05"
    command = f"while {gate.is_closed}; do {prints}; done; echo $i lines of rank $RANK"
    seen: list[list[str]] = []

    def look() -> bool:
        """Note each screen that has the status line."""
        if status(terminal) and terminal.rows() not in seen[-1:]:
            seen.append(terminal.rows())
        return len(seen) > 10 and "2 running" in seen[-1][-1]

    with running(dlf_command, command, terminal, ranks=2):
        terminal.read_until(look)
        gate.open()
    assert {1} == {sum(bool(STATUS.match(row)) for row in rows) for rows in seen}
    assert all(STATUS.match(rows[-1]) for rows in seen)
    assert [] == status(terminal)
    for rank in (0, 1):
        *lines, last = [line for line in log_lines(terminal) if line.endswith(f"rank {rank}")]
        assert [f"line {i} of rank {rank}" for i in range(1, len(lines) + 1)] == lines
        assert f"{len(lines)} lines of rank {rank}" == last
    notes = [line for line in terminal.lines() if line.startswith("dlf: ")]
    assert re.fullmatch(r"dlf: PyTorchJob .*: 2 processes on this machine", notes[0])
    assert re.fullmatch(r"dlf: PyTorchJob \S+ succeeded", notes[-1])


@pytest.mark.parametrize("columns", [12, 30])
def test_narrow_window_and_long_lines_leave_nothing_behind(
    dlf_command: list[str], columns: int
) -> None:
    """Lines wrap as the terminal has it, the status line does not."""
    command = "for i in $(seq 5); do printf '%0*d\\n' $((i * 1700)) $i; sleep 0.3; done"
    with closing(PseudoTerminal(columns, 10)) as terminal:
        with running(dlf_command, command, terminal) as process:
            while process.poll() is None:
                terminal.read(0.05)
                assert sum(bool(re.match(r"dlf: \d+s", row)) for row in terminal.rows()) <= 1
        text = "".join(line.ljust(columns) for line in terminal.lines())
    assert [str(i).zfill(i * 1700) for i in range(1, 6)] == re.findall(r"0{100,}\d", text)
    assert not re.search(r"dlf: \d+s", text)


def test_lines_that_come_faster_than_the_terminal_shows_them_are_whole(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate
) -> None:
    """The terminal takes a part of a write, and the rest later: nothing comes between."""
    prints = "for i in $(seq 5000); do echo $i begins, goes on, and ends; done"
    with running(dlf_command, f"{prints}; {gate.wait}; echo x", terminal):
        terminal.read_until(lambda: bool(status(terminal)))
        gate.open()
    expected = [f"{i} begins, goes on, and ends" for i in range(1, 5001)]
    assert [*expected, "x"] == log_lines(terminal)


def test_window_that_becomes_narrower_shows_one_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate
) -> None:
    """It is cut to what the window has when it is drawn."""

    def cut() -> list[str]:
        return [row for row in terminal.rows() if re.match(r"dlf: \d+s, 1 r", row)]

    with running(dlf_command, f"{gate.wait}; echo end", terminal):
        terminal.read_until(lambda: bool(status(terminal)))
        terminal.resize(14, 24)
        terminal.read_until(lambda: [13] == [len(row) for row in cut()])
        gate.open()
        terminal.read_until(lambda: any("end" in row for row in terminal.rows()))
    assert not [row for row in terminal.lines() if re.match(r"dlf: \d+s", row)]


def test_stdout_in_a_file_is_exact(
    dlf_command: list[str], terminal: PseudoTerminal, tmp_path: Path, gate: Gate
) -> None:
    """The terminal has the status line, the file only the lines."""
    command = f"for i in $(seq 40); do echo line $i; sleep 0.05; done; {gate.wait}"
    with (
        (tmp_path / "out").open("wb") as file,
        running(dlf_command, command, terminal, stdout=file),
    ):
        terminal.read_until(lambda: bool(status(terminal)))
        gate.open()
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert [b"line %d" % i for i in range(1, 41)] == [line.partition(b" ")[2] for line in lines]
    assert [] == status(terminal)
    assert [] == log_lines(terminal)


@pytest.mark.parametrize("piped", ["stdout", "stderr"])
def test_pipe_has_no_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, piped: str
) -> None:
    """Not in the pipe, and not on the terminal, to which the pipe's reader may write as well."""
    out, err = (subprocess.PIPE, None) if piped == "stdout" else (None, subprocess.PIPE)
    command = "sleep 1.5; echo end"
    with running(dlf_command, command, terminal, stdout=out, stderr=err) as process:
        in_pipe = b"".join(filter(None, process.communicate(timeout=60)))
    assert b"\x1b" not in in_pipe
    assert b"\x1b[?7l" not in terminal.written
    assert b"1 running" not in terminal.written + in_pipe


@pytest.mark.parametrize("term", ["dumb", None])
def test_terminal_that_can_do_nothing_gets_lines_only(
    dlf_command: list[str], terminal: PseudoTerminal, term: str | None
) -> None:
    """TERM=dumb, as in editors; or TERM is not set."""
    with running(dlf_command, "sleep 1.5; printf a", terminal, term=term, NO_COLOR="1"):
        pass
    assert b"\x1b" not in terminal.written
    assert [] == status(terminal)


def test_no_color_leaves_the_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate
) -> None:
    """It has no colour."""
    with running(dlf_command, f"{gate.wait}; echo end", terminal, NO_COLOR="1"):
        terminal.read_until(lambda: bool(status(terminal)))
        gate.open()
    assert [] == re.findall(rb"\x1b\[[0-9;]*m", terminal.written)


def test_progress_bar_stands_above_the_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate
) -> None:
    """Both are taken away when the line is whole."""
    command = rf"echo begun; printf '10%%\r20%%\r'; {gate.wait}; echo done"
    both = re.compile(rf"\S+ 20%\n{STATUS.pattern}")
    with running(dlf_command, command, terminal):
        terminal.read_until(lambda: bool(both.match("\n".join(terminal.rows()[-2:]))))
        gate.open()
    assert ["begun", "done"] == log_lines(terminal)


@pytest.mark.parametrize("signals", [1, 2])
def test_stopped_job_leaves_no_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, signals: int
) -> None:
    """Also when a second signal ends dlf at once."""
    command = "trap '' TERM; echo begun; sleep 1000"
    with running(dlf_command, command, terminal) as process:
        terminal.read_until(lambda: bool(status(terminal)) and log_lines(terminal) == ["begun"])
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            terminal.read_until(lambda: "SIGINT received" in "".join(terminal.rows()))
    assert 130 == process.returncode
    assert [] == status(terminal)


def test_terminal_that_is_stopped_stops_no_drawing(terminal: PseudoTerminal) -> None:
    """Ctrl-S: nothing blocks; after Ctrl-Q it is drawn again."""
    footer = Footer(terminal.process_side)
    terminal.type(b"\x13")
    for number in range(10_000):
        footer.show_status(f"number {number}")
    terminal.type(b"\x11")
    footer.show_status("the last one")

    def is_drawn() -> bool:
        footer.draw()  # the kernel lets the terminal go on a moment after the key
        return ["the last one"] == terminal.rows()[-1:]

    terminal.read_until(is_drawn)
    footer.clear()
    terminal.read_rest()
    assert [] == terminal.rows()


def test_shell_in_the_foreground_keeps_its_terminal(
    dlf_command: list[str], terminal: PseudoTerminal, gate: Gate, tmp_path: Path
) -> None:
    """`dlf ... &`: lines come, the status line only when the job is brought to the foreground."""
    foreground = Gate(tmp_path / "foreground")
    words = " ".join([*dlf_command, "pytorch", "--runtime", "local", "--num_worker", "1"])
    command = f"sleep 2; echo now; {gate.wait}; echo end"
    script = f"set -m; {words} --command '{command}' & {foreground.wait}; fg >/dev/null"
    side = terminal.process_side
    with OwnedProcess[bytes](
        ["setsid", "--ctty", "--wait", "bash", "-c", script],
        stdin=side,
        stdout=side,
        stderr=side,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        terminal.read_until(lambda: log_lines(terminal) == ["now"])
        assert b"\x1b[?7l" not in terminal.written
        foreground.open()
        terminal.read_until(lambda: bool(status(terminal)))
        gate.open()
        terminal.read_until(lambda: process.poll() is not None)
    terminal.read_rest()
    assert 0 == process.returncode
    assert ["now", "end"] == log_lines(terminal)
    assert [] == status(terminal)
