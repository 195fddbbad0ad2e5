"""The lines at the bottom of a terminal: a real process on a real pseudo-terminal."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from owned_process import OwnedProcess
from pseudo_terminal import PseudoTerminal

from dlf.footer import Footer

STATUS = re.compile(r"dlf: \d+s, \d+ (running|succeeded|failed)(, \d+ \w+)*$")
PRINTING = "for i in $(seq 40); do echo line $i of rank $RANK; sleep 0.05; done"


@pytest.fixture
def terminal() -> Iterator[PseudoTerminal]:
    made = PseudoTerminal()
    yield made
    made.close()


@contextmanager
def running(
    dlf_command: list[str],
    command: str,
    *,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    ranks: int = 1,
    term: str | None = "xterm",
    **env: str,
) -> Iterator[subprocess.Popen[bytes]]:
    """A job on this machine, with the terminal as its own, as a shell would start it."""
    words = ["pytorch", "--runtime", "local", "--num_worker", str(ranks), "--command", command]
    outer = {key: value for key, value in os.environ.items() if key not in {"TERM", "NO_COLOR"}}
    with OwnedProcess(
        [*dlf_command, *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=outer | ({"TERM": term} if term else {}) | env,
        start_new_session=True,
    ) as process:
        yield process
        process.wait(timeout=60)


def status(terminal: PseudoTerminal) -> list[str]:
    """The status lines that are on the screen."""
    return [row for row in terminal.rows() if STATUS.match(row)]


def log_lines(terminal: PseudoTerminal) -> list[str]:
    """The lines without dlf's own, without the pods' names."""
    lines = [line for line in terminal.lines() if line and not line.startswith("dlf: ")]
    return [line.partition(" ")[2] for line in lines]


def test_status_line_stands_below_the_lines(
    dlf_command: list[str], terminal: PseudoTerminal
) -> None:
    """It is there while lines come, on the last row, once; at the end nothing is left of it."""
    side = terminal.process_side
    seen = []
    with running(dlf_command, PRINTING, stdout=side, stderr=side, ranks=2) as process:
        while process.poll() is None:
            if terminal.read(0.05) and status(terminal):
                seen.append((len(status(terminal)), terminal.rows()[-1]))
    terminal.read_rest()
    assert len(seen) > 10
    assert {1} == {count for count, _ in seen}
    assert all(STATUS.match(last) for _, last in seen)
    assert {"2 running"} <= {last.partition(", ")[2] for _, last in seen}
    assert [] == status(terminal)
    expected = [f"line {i} of rank {rank}" for i in range(1, 41) for rank in (0, 1)]
    assert sorted(expected) == sorted(log_lines(terminal))
    notes = [line for line in terminal.lines() if line.startswith("dlf: ")]
    assert re.fullmatch(r"dlf: PyTorchJob .*: 2 processes on this machine", notes[0])
    assert re.fullmatch(r"dlf: PyTorchJob \S+ succeeded", notes[-1])


@pytest.mark.parametrize("columns", [12, 30])
def test_narrow_window_and_long_lines_leave_nothing_behind(
    dlf_command: list[str], columns: int
) -> None:
    """Lines wrap as the terminal has it, the status line does not."""
    terminal = PseudoTerminal(columns, 10)
    side = terminal.process_side
    command = "for i in $(seq 5); do printf '%0*d\\n' $((i * 1700)) $i; sleep 0.3; done"
    with running(dlf_command, command, stdout=side, stderr=side) as process:
        while process.poll() is None:
            terminal.read(0.05)
            assert sum(bool(re.match(r"dlf: \d+s", row)) for row in terminal.rows()) <= 1
    terminal.read_rest()
    text = "".join(line.ljust(columns) for line in terminal.lines())
    assert [str(i).zfill(i * 1700) for i in range(1, 6)] == re.findall(r"0{100,}\d", text)
    assert not re.search(r"dlf: \d+s", text)
    terminal.close()


def test_lines_that_come_faster_than_the_terminal_shows_them_are_whole(
    dlf_command: list[str], terminal: PseudoTerminal
) -> None:
    """The terminal takes a part of a write, and the rest later: nothing comes between."""
    side = terminal.process_side
    command = "for i in $(seq 5000); do echo $i begins, goes on, and ends; done; sleep 5; echo x"
    with running(dlf_command, command, stdout=side, stderr=side):
        terminal.read_until(lambda: bool(status(terminal)))
    terminal.read_rest()
    expected = [f"{i} begins, goes on, and ends" for i in range(1, 5001)]
    assert [*expected, "x"] == log_lines(terminal)


def test_window_that_becomes_narrower_shows_one_status_line(
    dlf_command: list[str], terminal: PseudoTerminal
) -> None:
    """It is cut to what the window has when it is drawn."""
    side = terminal.process_side
    with running(dlf_command, "sleep 3; echo end", stdout=side, stderr=side):
        terminal.read_until(lambda: bool(status(terminal)))
        terminal.resize(14, 24)
        terminal.read_until(lambda: any(row.startswith("dlf: 2s, 1 ru") for row in terminal.rows()))
        assert [row for row in terminal.rows() if row.startswith("dlf: 2s")] == ["dlf: 2s, 1 ru"]
        terminal.read_until(lambda: any("end" in row for row in terminal.rows()))
    terminal.read_rest()
    assert not [row for row in terminal.lines() if re.match(r"dlf: \d+s", row)]


def test_stdout_in_a_file_is_exact(
    dlf_command: list[str], terminal: PseudoTerminal, tmp_path: Path
) -> None:
    """The terminal has the status line, the file only the lines."""
    side = terminal.process_side
    with (
        (tmp_path / "out").open("wb") as file,
        running(dlf_command, PRINTING, stdout=file, stderr=side),
    ):
        terminal.read_until(lambda: bool(status(terminal)))
    terminal.read_rest()
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert [b"line %d of rank 0" % i for i in range(1, 41)] == [
        line.partition(b" ")[2] for line in lines
    ]
    assert [] == status(terminal)
    assert [] == log_lines(terminal)


@pytest.mark.parametrize("piped", ["stdout", "stderr"])
def test_pipe_has_no_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, piped: str
) -> None:
    """Not in the pipe, and not on the terminal, to which the pipe's reader may write as well."""
    side, pipe, command = terminal.process_side, subprocess.PIPE, "sleep 1.5; echo end"
    out, err = (pipe, side) if piped == "stdout" else (side, pipe)
    with running(dlf_command, command, stdout=out, stderr=err) as process:
        in_pipe = b"".join(filter(None, process.communicate(timeout=60)))
    terminal.read_rest()
    assert b"\x1b" not in in_pipe
    assert b"\x1b[?7l" not in terminal.written
    assert b"1 running" not in terminal.written + in_pipe


@pytest.mark.parametrize("term", ["dumb", None])
def test_terminal_that_can_do_nothing_gets_lines_only(
    dlf_command: list[str], terminal: PseudoTerminal, term: str | None
) -> None:
    """TERM=dumb, as in editors; or TERM is not set."""
    side = terminal.process_side
    with running(
        dlf_command, "sleep 1.5; printf a", stdout=side, stderr=side, term=term, NO_COLOR="1"
    ):
        pass
    terminal.read_rest()
    assert b"\x1b" not in terminal.written
    assert [] == status(terminal)


def test_no_color_leaves_the_status_line(dlf_command: list[str], terminal: PseudoTerminal) -> None:
    """It has no colour."""
    side = terminal.process_side
    with running(dlf_command, "sleep 1.5; echo end", stdout=side, stderr=side, NO_COLOR="1"):
        terminal.read_until(lambda: bool(status(terminal)))
    terminal.read_rest()
    assert [] == re.findall(rb"\x1b\[[0-9;]*m", terminal.written)


def test_progress_bar_stands_above_the_status_line(
    dlf_command: list[str], terminal: PseudoTerminal
) -> None:
    """Both are taken away when the line is whole."""
    side = terminal.process_side
    command = r"echo begun; printf '10%%\r20%%\r'; sleep 4; echo done"
    with running(dlf_command, command, stdout=side, stderr=side):
        terminal.read_until(lambda: "20%" in "".join(terminal.rows()[-2:-1]))
        assert STATUS.match(terminal.rows()[-1])
    terminal.read_rest()
    assert ["begun", "done"] == log_lines(terminal)


@pytest.mark.parametrize("signals", [1, 2])
def test_stopped_job_leaves_no_status_line(
    dlf_command: list[str], terminal: PseudoTerminal, signals: int
) -> None:
    """Also when a second signal ends dlf at once."""
    side = terminal.process_side
    command = "trap '' TERM; echo begun; sleep 1000"
    with running(dlf_command, command, stdout=side, stderr=side) as process:
        terminal.read_until(lambda: bool(status(terminal)) and log_lines(terminal) == ["begun"])
        for _ in range(signals):
            process.send_signal(signal.SIGINT)
            terminal.read_until(lambda: "SIGINT received" in "".join(terminal.rows()))
        assert 130 == process.wait(timeout=60)
    terminal.read_rest()
    assert [] == status(terminal)


def test_terminal_that_is_stopped_stops_no_drawing(terminal: PseudoTerminal) -> None:
    """Ctrl-S: nothing blocks; after Ctrl-Q it is drawn again."""
    footer = Footer(terminal.process_side)
    terminal.type(b"\x13")
    for number in range(10_000):
        footer.show_status(f"number {number}")
    terminal.type(b"\x11")
    terminal.read_rest()
    footer.show_status("the last one")
    terminal.read_rest()
    assert ["the last one"] == terminal.rows()[-1:]
    footer.clear()
    terminal.read_rest()
    assert [] == terminal.rows()


def test_shell_in_the_foreground_keeps_its_terminal(
    dlf_command: list[str], terminal: PseudoTerminal
) -> None:
    """`dlf ... &`: lines come, the status line only when the job is brought to the foreground."""
    words = " ".join([*dlf_command, "pytorch", "--runtime", "local", "--num_worker", "1"])
    script = f"set -m; {words} --command 'sleep 4; echo end' & sleep 2; echo now; fg >/dev/null"
    side = terminal.process_side
    with OwnedProcess(
        ["setsid", "--ctty", "--wait", "bash", "-c", script],
        stdin=side,
        stdout=side,
        stderr=side,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        terminal.read_until(lambda: "now" in terminal.rows())
        assert b"\x1b[?7l" not in terminal.written
        terminal.read_until(lambda: bool(status(terminal)))
        assert 0 == process.wait(timeout=60)
    terminal.read_rest()
    assert ["end"] == log_lines(terminal)[1:]
    assert [] == status(terminal)
