"""`dlf worker` as a process: what it runs, prints, signals and returns."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from worker.orphans import COUNT, ORPHANS

PROJECT = str(Path(__file__).parents[2])


@contextmanager
def started(dlf_command: list[str], *words: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """Run `dlf worker WORDS`; kill it with the block."""
    with subprocess.Popen(
        [*dlf_command, "worker", *words],
        env={**os.environ, **env},
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finished(dlf_command: list[str], *words: str, **env: str) -> tuple[int, list[str], list[str]]:
    """Run it to its end; exit code, lines of stdout, lines of stderr."""
    with started(dlf_command, *words, **env) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out.splitlines(), err.splitlines()


def leads_a_group(pid: str) -> bool:
    try:
        return os.getpgid(int(pid)) == int(pid)
    except ProcessLookupError:
        return False


def shell(script: str) -> list[str]:
    """The words of a script that gets its process's index as $1."""
    return ["--", "bash", "-c", f"shift; {script}", "bash"]


def test_without_features_it_becomes_the_command(dlf_command: list[str]) -> None:
    """Same process, same streams: nothing of dlf is left."""
    with started(dlf_command, "--processes", "1", *shell("echo $$; exit 3")) as process:
        out, _ = process.communicate(timeout=60)
    assert (3, f"{process.pid}\n") == (process.returncode, out)


def test_output_is_whole_lines_with_the_number_of_the_process(dlf_command: list[str]) -> None:
    script = "for i in $(seq 2000); do echo -n $1; echo -n ' line '; echo $i; done; echo bye >&2"
    code, out, err = finished(dlf_command, "--processes", "3", *shell(script))
    expected = {
        index: [f"[{index}] {index} line {n}" for n in range(1, 2001)] for index in range(3)
    }
    printed = {index: [line for line in out if line.startswith(f"[{index}]")] for index in range(3)}
    assert (0, expected, ["[0] bye", "[1] bye", "[2] bye"]) == (code, printed, sorted(err))


def test_the_first_failure_is_the_result_and_ends_the_others(
    dlf_command: list[str], tmp_path: Path
) -> None:
    """SIGTERM first, so that they may save; their exit codes do not count."""
    script = (
        f"cd {tmp_path}; [ $1 = 1 ] && {{ until [ -e 0 -a -e 2 ]; do :; done; exit 7; }};"
        " trap 'echo saved; exit 9' TERM; touch $1; sleep 1000 & wait"
    )
    code, out, err = finished(dlf_command, "--processes", "3", *shell(script))
    assert (7, ["[0] saved", "[2] saved"]) == (code, sorted(out))
    assert "dlf: process 1 failed with exit code 7; stopping the other 2" == err[0]


def test_what_ignores_sigterm_is_killed_after_the_grace(
    dlf_command: list[str], tmp_path: Path
) -> None:
    script = (
        f"cd {tmp_path}; [ $1 = 1 ] && {{ until [ -e 0 ]; do :; done; exit 7; }};"
        " trap '' TERM; echo $$; touch $1; while :; do read -t 1; done <> <(:)"
    )
    code, out, err = finished(dlf_command, "--processes", "2", "--grace", "1s", *shell(script))
    (line,) = out
    assert (7, "dlf: killing process 0: not ended within 1s (--grace) of SIGTERM") == (code, err[1])
    with pytest.raises(ProcessLookupError):
        os.kill(int(line.split()[1]), 0)


def test_a_killed_process_is_told_with_its_signal(dlf_command: list[str]) -> None:
    code, _, err = finished(dlf_command, "--processes", "2", *shell("[ $1 = 0 ] || kill -9 $$"))
    told = (
        "dlf: process 1 was killed by SIGKILL (exit code 137), as when the container is out of"
        " memory"
    )
    assert (137, told) == (code, err[0].partition(";")[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_go_to_all(dlf_command: list[str], number: signal.Signals) -> None:
    """A trainer that saves takes its time, and what it returns is the result."""
    script = f"trap 'echo saved; exit 0' {number.name[3:]}; echo ready; sleep 1000 & wait"
    with started(dlf_command, "--processes", "2", *shell(script)) as process:
        assert process.stdout is not None
        assert {"[0] ready\n", "[1] ready\n"} == {process.stdout.readline() for _ in range(2)}
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (0, ["[0] saved", "[1] saved"], "") == (
        process.returncode,
        sorted(out.splitlines()),
        err,
    )


def test_a_trainer_below_a_shell_saves_after_sigterm(dlf_command: list[str]) -> None:
    """The shell is killed by SIGTERM; its child is in the same group, and gets the grace."""
    trainer = "trap 'sleep 0.2; echo saved; exit 0' TERM; echo ready; sleep 1000 & wait"
    script = f'bash -c "{trainer}"; echo not reached'
    with started(dlf_command, "--processes", "2", *shell(script)) as process:
        assert process.stdout is not None
        assert {"[0] ready\n", "[1] ready\n"} == {process.stdout.readline() for _ in range(2)}
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert (143, ["[0] saved", "[1] saved"]) == (process.returncode, sorted(out.splitlines()))


def test_no_process_is_left_behind(dlf_command: list[str]) -> None:
    """What a process leaves in its group ends with it."""
    script = "sleep 1000 & echo $!"
    code, out, _ = finished(dlf_command, "--processes", "2", *shell(script))
    left = [int(line.split()[1]) for line in out]
    assert (0, 2) == (code, len(left))
    for pid in left:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_children_are_reaped_as_process_1(dlf_command: list[str]) -> None:
    """A thousand orphans, which only process 1 of the container can reap: all are gone."""
    command = ["--process_env", "--", "python3", "-c", ORPHANS]
    words = [*dlf_command, "worker", "--processes", "2", *command]
    namespaces = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    done = subprocess.run(
        [*namespaces, *words], capture_output=True, text=True, cwd=PROJECT, timeout=100, check=False
    )
    expected = [f"[{index}] {COUNT} orphans, 0 left" for index in (0, 1)]
    assert (0, expected) == (done.returncode, sorted(done.stdout.splitlines())), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--processes", "2", "--", "nope"], 127, "cannot run 'nope': it is not on the PATH"),
        (["--", "nope"], 127, "cannot run 'nope': it is not on the PATH"),
        (["--", "/etc/passwd"], 126, "cannot run '/etc/passwd': it is not executable"),
        (["--", "/nope"], 127, "cannot run '/nope': there is no such file"),
        (["--processes", "2"], 2, "the command is missing; write dlf worker [flags] -- COMMAND"),
        (["--procs", "2", "--", "a"], 2, "unknown flag '--procs'"),
        (["--processes", "none", "--", "a"], 2, "--processes='none'"),
        (["--remote", "--", "a"], 2, "--remote cannot tell which pods the job has"),
        (["--remote", "--remote_port", "65536", "--", "a"], 2, "--remote_port='65536'"),
        (["--hostfile=/proc/x", "--", "a"], 2, "--hostfile='/proc/x' cannot be written: No such"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    dlf_command: list[str], words: list[str], code: int, message: str
) -> None:
    returned, out, err = finished(dlf_command, *words)
    assert (code, [], 1) == (returned, out, len(err))
    assert err[0].startswith(f"dlf: {message}")


@pytest.mark.parametrize("flags", [[], ["--processes", "2"]])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("#!/nowhere/bash\n", "the interpreter in its first line, or its loader (ld.so), is not"),
        ("\0ELF", "it is neither built for this machine's CPU nor a script that begins with #!"),
    ],
)
def test_program_that_the_kernel_refuses_is_explained(
    dlf_command: list[str], tmp_path: Path, flags: list[str], content: str, reason: str
) -> None:
    """`No such file or directory` of a file that is there helps nobody."""
    program = tmp_path / "program"
    program.write_text(content)
    program.chmod(0o755)
    code, out, err = finished(dlf_command, *flags, "--", str(program))
    assert (126, [], 1) == (code, out, len(err))
    assert err[0].startswith(f"dlf: cannot run '{program}': {reason}")


def test_full_disk_costs_the_stacks_and_not_the_training(dlf_command: list[str]) -> None:
    """Said in one line."""
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *dlf_command]
    code, out, err = finished(limited, "--stacks", *shell("echo ran; exit 3"))
    assert (3, ["ran"], 1) == (code, out, len(err))
    assert err[0].startswith("dlf: --stacks: cannot write to /")
    assert "(File too large): the command is started without it" in err[0]


def test_what_cannot_be_removed_changes_no_exit_code(
    dlf_command: list[str], tmp_path: Path
) -> None:
    """The command may leave anything in the temporary directory."""
    script = "cd ${DLF_WORKER_HOSTFILE%/*}; ln -s / root; mkdir -p a/b; ln -s .. a/c; exit 7"
    code, out, err = finished(
        dlf_command, "--hostfile", *shell(script), TMPDIR=str(tmp_path), VC_WORKER_HOSTS="a"
    )
    assert (7, [], []) == (code, out, err)
    assert [] == list(tmp_path.iterdir())


def test_hostfile_is_there_for_the_command(dlf_command: list[str]) -> None:
    code, out, _ = finished(
        dlf_command,
        "--hostfile",
        *shell("cat $DLF_WORKER_HOSTFILE; echo $DLF_WORKER_HOSTFILE"),
        VC_WORKER_HOSTS="j-worker-0.j,j-worker-1.j",
        GPU_NUM="4",
    )
    assert (0, ["j-worker-0.j slots=4", "j-worker-1.j slots=4"]) == (code, out[:2])
    assert not Path(out[2]).exists()


def test_peers_that_do_not_come_are_named(dlf_command: list[str]) -> None:
    """Exit code 124, and the command has not run."""
    code, out, err = finished(
        dlf_command,
        *("--wait_peers", "--wait_timeout", "1s"),
        *shell("echo ran"),
        VC_WORKER_HOSTS="127.0.0.1,j-worker-1.invalid",
        VC_TASK_INDEX="0",
    )
    expected = (
        "dlf: gave up: not reached within 1s (--wait_timeout) are 1 of 1 pods: j-worker-1.invalid"
        " (DNS does not know its name); see by dlf status JOB whether they run"
    )
    assert (124, [], [expected]) == (code, out, err)


def test_waiting_for_peers_ends_with_sigterm(dlf_command: list[str]) -> None:
    with started(
        dlf_command,
        *("--wait_peers", "--wait_timeout", "1h"),
        *shell("echo ran"),
        VC_WORKER_HOSTS="127.0.0.1,j-worker-1.invalid",
        VC_TASK_INDEX="0",
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not any(map(leads_a_group, children.read_text().split())):
            pass  # its child that waits is in a process group of its own
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert (143, "") == (process.returncode, out)
