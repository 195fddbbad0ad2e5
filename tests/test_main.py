"""The process edge with the real process: closed streams, signals, what cannot be written."""

import contextlib
import fcntl
import os
import pty
import shlex
import signal
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from owned_process import OwnedProcess


@pytest.fixture
def local(dlf_command: list[str]) -> list[str]:
    """The words of a job of one process on this machine."""
    return [*dlf_command, "pytorch", "--runtime", "local", "--num_worker", "1"]


def shell(local: list[str], command: str, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run the job with its standard streams as the shell sets them."""
    words = f"{shlex.join([*local, '--command', command])} {redirection}"
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_change_the_result(local: list[str], redirection: str) -> None:
    """The job runs, and its exit code is told, whoever has closed what."""
    assert shell(local, "true", redirection).returncode == 0
    assert shell(local, "exit 3", redirection).returncode == 1


def test_closed_stderr_leaves_stdout_to_the_log(local: list[str]) -> None:
    """What dlf says goes nowhere then, and not between the lines of the log."""
    done = shell(local, "echo hi", "2>&-")

    assert [line.partition(" ")[2] for line in done.stdout.splitlines()] == ["hi"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_signal_stops_the_job(local: list[str], number: signal.Signals, code: int) -> None:
    """A terminal that has gone stops the job as SIGTERM does."""
    words = [*local, "--command", "echo begun; sleep 1000"]
    with OwnedProcess[bytes](
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Under nohup, or in a shell's background, it would be ignored, and rightly so.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(b"begun\n")
        process.send_signal(number)

        assert process.wait(timeout=60) == code


def test_report_that_cannot_be_written_is_told_before_the_job(
    local: list[str], tmp_path: Path
) -> None:
    """Exit 2, one line, and nothing has run."""
    path = str(tmp_path / "missing" / "report.json")
    words = [*local, "--command", "echo ran", "--report", path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"dlf: --report={path!r} cannot be written: No such file or directory\n"


def test_rank_that_does_not_exist_is_told(local: list[str]) -> None:
    """Else an empty log would be a riddle."""
    done = subprocess.run(
        [*local, "--command", "echo x", "--log_ranks", "7"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0
    assert "dlf: --log_ranks: there is no rank 7; ranks are 0 to 0\n" in done.stderr


PRINTING = [
    "--help",
    "help pytorch",
    "check --help",
    "version --output json",
    "pytorch --image i --dry-run",
]


@pytest.mark.parametrize("words", PRINTING)
def test_full_stdout_is_told_in_a_line(dlf_command: list[str], words: str) -> None:
    """Exit 74: what was asked for is not there."""
    command = f"{shlex.join(dlf_command)} {words} >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (
        74,
        "dlf: cannot write to standard output: No space left on device\n",
    )


@pytest.mark.parametrize(
    ("redirection", "code"),
    [(">/dev/full 2>/dev/full", 74), (">&- 2>&-", 0), ("| true", 0), ("2>/dev/full >&-", 0)],
)
@pytest.mark.parametrize("words", PRINTING)
def test_no_stream_makes_a_traceback(
    dlf_command: list[str], words: str, redirection: str, code: int
) -> None:
    """A closed stream is the caller's wish; a full one is an error, told where it can be."""
    command = f"set -o pipefail; {shlex.join(dlf_command)} {words} {redirection}"
    # Some environments have Python write without a buffer, which hides what a full one does.
    env = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, env=env
    )

    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("columns", [0, 1, 40, 200, 65535])
def test_terminal_of_any_width_shows_the_help(dlf_command: list[str], columns: int) -> None:
    """Serial consoles and CI systems say 0 columns."""
    terminal, process_side = pty.openpty()
    fcntl.ioctl(process_side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with OwnedProcess[bytes]([*dlf_command, "pytorch", "--help"], stdout=process_side) as process:
        os.close(process_side)
        shown = b""
        with contextlib.suppress(OSError):  # a terminal whose other side is closed says EIO
            while part := os.read(terminal, 65536):
                shown += part
        os.close(terminal)

        assert process.wait(timeout=60) == 0
    lines = shown.decode().splitlines()
    limit = min(max(columns or 80, 40), 100)
    assert "  dlf pytorch [flags]" in lines
    assert [line for line in lines if len(line) > limit and len(line.split()) > 2] == []
