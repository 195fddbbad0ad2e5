"""The process edge with the real process: closed streams, signals, what cannot be written."""

import shlex
import signal
import subprocess
from pathlib import Path

import pytest


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
    with subprocess.Popen(
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
    assert done.stderr == f"dlf: --report={path!r}: No such file or directory\n"


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
