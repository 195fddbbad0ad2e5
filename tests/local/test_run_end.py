"""How jobs on this machine end: by failure, time, signals and accidents, and with nothing left."""

import os
import selectors
import signal
import sys
from pathlib import Path

import pytest
from local.dlf_process import Dlf
from local.reading import LOCAL, printed
from waiting import PATIENCE


def test_run_ends_with_the_failed_rank(dlf: Dlf) -> None:
    """One rank that exits 7 fails the job, is named, and the others are killed."""
    command = "[ $RANK != 1 ] || { echo last words; exit 7; }; sleep 1000"
    done = dlf.run(*LOCAL, "--command", command)
    told = done.stderr.decode()
    assert 1 == done.returncode, told
    assert "rank 1): exit code 7\n" in told
    assert "| last words\n" in told


def test_run_names_the_cause_when_a_victim_ends_first(dlf: Dlf) -> None:
    """A rank that lost its peer ends at once, the peer's launcher later: it is named."""
    os.mkfifo(dlf.directory / "ends")  # what reads it goes on when what writes to it has ended
    command = """
    case $RANK in
    0) exec 8>ends; echo "RuntimeError: [pair.cc] Connection closed by peer"; exit 1 ;;
    1) cat ends; echo "ValueError: bad batch"; exit 3 ;;
    esac
    """
    done = dlf.run(*LOCAL, "--command", command)
    told = done.stderr.decode()
    assert 1 == done.returncode, told
    assert "rank 1): exit code 3" in told.partition("failed: ")[2].partition("\n")[0], told


def test_run_kills_what_ignores_sigterm(dlf: Dlf) -> None:
    """After a short grace, the process group and what has left it are killed."""
    command = """
    trap '' TERM INT HUP
    setsid bash -c 'trap "" TERM; while :; do sleep 1000; done' &
    [ $RANK != 1 ] || exit 7
    while :; do sleep 1000; done
    """
    done = dlf.run(*LOCAL, "--command", command)
    assert 1 == done.returncode, done.stderr.decode()
    assert [] == dlf.left_over()


def test_run_ends_a_pod_with_its_first_process(dlf: Dlf) -> None:
    """Orphans in sessions of their own, that keep the pipe open, do not keep the job."""
    command = "(setsid sleep 1000 &) ; setsid sleep 1000 & echo done"
    done = dlf.run(*LOCAL, "--command", command)
    assert 0 == done.returncode, done.stderr.decode()
    assert [["done"]] * 3 == list(printed(done.stdout).values())


@pytest.mark.parametrize("code", [0, 1])
def test_run_goes_on_when_the_reader_has_gone(dlf: Dlf, code: int) -> None:
    """As with `| head -1`: the job is not stopped, and its result is the real one."""
    command = f"seq 100000; echo > ended; exit {code}"
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().endswith(b" 1\n")
        process.stdout.close()
        told = process.stderr.read().decode()
    assert "Traceback" not in told
    assert (code, True) == (process.returncode, (dlf.directory / "ended").exists())


def test_run_ends_at_the_time_limit(dlf: Dlf) -> None:
    """--timeout stops the job; what was printed until then is there."""
    for seconds in (2, 10, 40):  # a busy machine may need more until all ranks have printed
        begun = dlf.directory / str(seconds)
        begun.mkdir()
        command = f"echo $RANK; touch {begun}/$RANK; sleep 1000"
        done = dlf.run(*LOCAL, "--timeout", str(seconds), "--command", command)
        told = done.stderr.decode()
        assert 124 == done.returncode, told
        assert f"did not finish within {seconds}s (--timeout): still running: " in told
        if 3 == len(os.listdir(begun)):
            assert {"master-0": ["0"], "worker-0": ["1"], "worker-1": ["2"]} == printed(done.stdout)
            return
    pytest.fail("not all ranks have begun")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_run_ends_by_signal(dlf: Dlf, number: signal.Signals, code: int) -> None:
    """The pods get SIGTERM, and what they say then is printed."""
    command = "trap 'echo bye; exit' TERM; echo ready; sleep 1000 & wait"
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(b" ready\n")
        process.send_signal(number)
        rest = process.stdout.read()
    assert rest.endswith(b" bye\n")
    assert code == process.returncode


def test_run_ends_at_once_by_the_second_signal(dlf: Dlf) -> None:
    """Without the grace that the first signal gives; still nothing is left."""
    command = "trap '' TERM; echo ready; while :; do sleep 1000; done"
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().endswith(b" ready\n")
        process.terminate()
        assert any(b"received" in line for line in process.stderr)
        process.terminate()
    assert 143 == process.returncode


def test_run_killed_leaves_nothing(dlf: Dlf) -> None:
    """SIGKILL of dlf, which it cannot see coming, ends the pods and what left their sessions."""
    command = "(setsid sleep 1000 &); setsid sleep 1000 & env -i sleep 1000 & echo ready; wait"
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(b" ready\n")
        process.kill()
    assert -signal.SIGKILL == process.returncode
    assert [] == dlf.left_over()


def test_run_killed_leaves_no_pod_without_its_environment(dlf: Dlf) -> None:
    """A pod whose first process has cleared its environment is known by its session."""
    command = "echo $$; exec env -i sleep 1000"
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split(b" ")[1])
        pod = os.pidfd_open(pid)
        process.kill()
    with selectors.DefaultSelector() as selector:
        selector.register(pod, selectors.EVENT_READ)  # readable when it has ended
        assert selector.select(timeout=PATIENCE)
    os.close(pod)


def test_run_learns_exit_codes_where_sigchld_was_ignored(dlf: Dlf) -> None:
    """A parent may leave SIGCHLD ignored, and then the kernel keeps no exit codes."""
    ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    start = [sys.executable, "-c", f"{ignore}; os.execvp(sys.argv[1], sys.argv[1:])"]
    dlf.command = [*start, *dlf.command]
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", "exit 7")
    assert (1, True) == (done.returncode, b"exit code 7" in done.stderr), done.stderr.decode()


def test_run_removes_its_files(dlf: Dlf) -> None:
    """The scratch directory goes with the job, even when dlf was killed."""
    command = "echo $DLF_VOLCANO_DIR; cat $DLF_VOLCANO_DIR/worker.host; sleep 1000"
    words = ("mindspore", "--runtime", "local", "--num_worker", "1", "--command", command)
    with dlf.start(*words, TMPDIR=str(dlf.directory)) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().decode().split(" ")[1].strip())
        assert process.stdout.readline().endswith(b".1\n")
        assert dlf.directory == directory.parent
        process.kill()
    assert [] == dlf.left_over()
    assert not directory.exists()
