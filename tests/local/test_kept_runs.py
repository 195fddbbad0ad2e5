"""`dlf list`, `status`, `logs`, `delete` and `prune` of runs on this machine, as processes."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from local.dlf_process import Dlf
from local.reading import LOCAL
from local.records import finished, header, record, started
from waiting import PATIENCE, until

from dlf.local.run_record import RecordedPod

HERE = ("--runtime", "local")


@pytest.fixture
def kept(dlf: Dlf) -> Dlf:
    """dlf with a directory for its runs."""
    dlf.env["XDG_STATE_HOME"] = str(dlf.directory / "state")
    return dlf


def rows(dlf: Dlf) -> list[dict[str, object]]:
    done = dlf.run("list", *HERE, "-o", "json")
    assert 0 == done.returncode, done.stderr.decode()
    found: list[dict[str, object]] = json.loads(done.stdout or b"[]")
    return found


def run_to_end(dlf: Dlf, *words: str, code: int = 0) -> str:
    """Run a job; its name."""
    done = dlf.run(*words)
    assert code == done.returncode, done.stderr.decode()
    return str(rows(dlf)[0]["name"])


def wait_for_line(process: "subprocess.Popen[bytes]") -> str:
    """Wait for a job's next line, of whichever pod; the job's name."""
    assert process.stdout is not None
    pod = process.stdout.readline().decode().split()[0]
    return re.sub(r"-(master|worker)-\d+$", "", pod)


def reaper_of(launcher: int) -> int:
    """The child that ends a job's processes when dlf cannot: the one that runs dlf, too."""
    command = Path(f"/proc/{launcher}/cmdline").read_bytes()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == launcher and (directory / "cmdline").read_bytes() == command:
                return int(directory.name)
        except OSError:
            continue
    raise LookupError


def test_run_that_has_ended_is_told(kept: Dlf) -> None:
    """Its state, why, and what became of each rank, to people and to machines."""
    name = run_to_end(kept, *LOCAL, "--num_worker", "2", "--command", "exit $((RANK * 5))", code=1)
    (row,) = rows(kept)
    assert ("PyTorchJob", name, "failed", 0, 2) == tuple(
        row[key] for key in ("kind", "name", "state", "running", "total")
    )
    shown = kept.run("status", name, *HERE).stdout.decode().splitlines()
    assert (
        f"PyTorchJob {name} on this machine: failed (pod {name}-worker-0 (worker, rank 1):"
        " exit code 5)"
    ) == shown[0]
    assert shown[1].startswith("0 of 2 pods running, ")
    details = json.loads(kept.run("status", name, *HERE, "-o", "json").stdout)
    assert ["succeeded", "failed: exit code 5"] == [pod["state"] for pod in details["pods"]]


def test_run_that_goes_on_is_told_followed_and_deleted(kept: Dlf) -> None:
    """Its logs are followed to its end, which here is its deletion."""
    command = "echo ready $RANK; sleep 1000"
    with kept.start(*LOCAL, "--num_worker", "2", "--command", command) as process:
        (name,) = {wait_for_line(process) for _ in range(2)}
        (row,) = rows(kept)
        assert ("running", 2, 2) == (row["state"], row["running"], row["total"])
        with kept.start("logs", name, *HERE) as following:
            assert following.stdout is not None
            lines = {following.stdout.readline(), following.stdout.readline()}
            deleted = kept.run("delete", name, *HERE)
            assert (0, f"dlf: deleting PyTorchJob {name}\n") == (
                deleted.returncode,
                deleted.stderr.decode(),
            )
            assert 0 == following.wait(PATIENCE)
        assert {f"{name}-master-0 ready 0\n", f"{name}-worker-0 ready 1\n"} == {
            line.decode() for line in lines
        }
    assert 143 == process.returncode
    assert [] == kept.left_over()
    assert [] == rows(kept)
    gone = kept.run("logs", name, *HERE)
    assert 6 == gone.returncode
    assert f"there is no job {name!r} on this machine" in gone.stderr.decode()


UNTIL_DLF_IS_GONE = "while kill -0 $PPID 2>/dev/null; do sleep 0.05; done"


@pytest.mark.parametrize(
    ("command", "running", "left"),
    [
        pytest.param("echo ready; sleep 1000", 1, "1 of its pods still run", id="rank"),
        pytest.param(
            f"setsid sleep 1000 & echo ready; {UNTIL_DLF_IS_GONE}",
            0,
            "processes of its pods still run",
            id="stray",
        ),
    ],
)
def test_run_whose_dlf_was_killed_is_told_as_such(
    kept: Dlf, command: str, running: int, left: str
) -> None:
    """SIGKILL leaves no result; what outlives even the reaper can be deleted."""
    with kept.start(*LOCAL, "--num_worker", "1", "--command", command) as process:
        name = wait_for_line(process)
        os.kill(reaper_of(process.pid), signal.SIGKILL)
        process.kill()
    until(lambda: rows(kept)[0]["running"] == running)
    (row,) = rows(kept)
    assert ("killed", 1) == (row["state"], row["total"])
    shown = kept.run("status", name, *HERE).stdout.decode()
    assert (
        f"killed (its dlf, process {process.pid}, is gone without a result, as after SIGKILL, or"
        f" when its end could not be written; {left}: dlf delete --runtime local ends them)"
    ) in shown
    logs = kept.run("logs", name, *HERE)  # which does not wait for an end that cannot come
    assert f"{name}-master-0 ready\n" == logs.stdout.decode()
    assert f"dlf: PyTorchJob {name} has no result: its dlf was killed\n" == logs.stderr.decode()
    assert 0 == kept.run("delete", name, *HERE).returncode
    assert [] == kept.left_over()
    assert [] == rows(kept)


def test_run_that_is_killed_with_all_its_ranks_is_told(kept: Dlf) -> None:
    """The usual end of a SIGKILL: the reaper leaves nothing."""
    with kept.start(*LOCAL, "--num_worker", "1", "--command", "echo x; sleep 1000") as process:
        name = wait_for_line(process)
        process.kill()
    assert [] == kept.left_over()
    details = json.loads(kept.run("status", name, *HERE, "-o", "json").stdout)
    assert ("killed", "end unknown") == (details["job"]["state"], details["pods"][0]["state"])
    assert details["reason"].endswith("; nothing of it runs")


def test_run_that_was_interrupted_is_told(kept: Dlf) -> None:
    """By a signal that dlf sees."""
    with kept.start(*LOCAL, "--num_worker", "1", "--command", "echo x; sleep 1000") as process:
        name = wait_for_line(process)
        process.terminate()
    details = json.loads(kept.run("status", name, *HERE, "-o", "json").stdout)
    assert ("stopped", "stopped: exit code 143") == (
        details["job"]["state"],
        details["pods"][0]["state"],
    )


def test_logs_are_those_of_every_start(kept: Dlf) -> None:
    """Restarts in order, with their numbers; `--previous` is the start before the last."""
    command = "echo start $(ls | grep -c x); touch x$(ls | grep -c x); [ -e x2 ]"
    name = run_to_end(kept, *LOCAL, "--num_worker", "1", "--max_retry", "3", "--command", command)
    shown = kept.run("logs", name, *HERE, "--log_format", "json").stdout
    lines = [json.loads(line) for line in shown.splitlines()]
    assert [("start 0", 0), ("start 1", 1), ("start 2", 2)] == [
        (line["message"], line["restart"]) for line in lines
    ]
    previous = kept.run("logs", name, *HERE, "--previous", "--prefix", "none")
    assert "start 1\n" == previous.stdout.decode()


def test_logs_of_a_job_that_started_anew_are_whole(kept: Dlf) -> None:
    """Each attempt of a Volcano Job has logs of its own."""
    command = "echo try; ! mkdir once 2>/dev/null"
    words = ("mindspore", *HERE, "--num_worker", "1", "--command", command, "--max_retry", "1")
    name = run_to_end(kept, *words, "--log_dir", "files")
    assert f"{name}-worker-0 try\n" * 2 == kept.run("logs", name, *HERE).stdout.decode()
    assert [
        f"{name}-worker-0.volcanojob.log",
        f"{name}-worker-0.volcanojob.recreated-1.log",
    ] == sorted(path.name for path in (kept.directory / "files").iterdir())


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        (["--tail", "2"], ["4", "5"]),
        (["--tail", "0"], []),
        (["--tail", "9", "--no_follow"], ["1", "2", "3", "4", "5"]),
        (["-i", "[24]"], ["2", "4"]),
        (["--since", "1h", "-e", "1"], ["2", "3", "4", "5"]),
        (["--since_time", "2100-01-01T00:00:00Z"], []),
        (["-c", "istio"], []),
        (["--log_ranks", "-1"], ["1", "2", "3", "4", "5"]),
    ],
)
def test_lines_are_chosen_as_in_a_cluster(kept: Dlf, flags: list[str], printed: list[str]) -> None:
    """With the same words."""
    name = run_to_end(kept, *LOCAL, "--num_worker", "1", "--command", "seq 5")
    done = kept.run("logs", name, *HERE, "--prefix", "none", *flags)
    assert (printed, b"") == (done.stdout.decode().splitlines(), done.stderr)


def test_logs_are_the_bytes_that_were_printed(kept: Dlf) -> None:
    """All of 200,000 lines, bad UTF-8, carriage returns, and a last line without newline."""
    command = r"seq 200000; printf 'a\xff\r\0b\n\nend'"
    done = kept.run(*LOCAL, "--num_worker", "1", "--command", command)
    (row,) = rows(kept)
    assert done.stdout == kept.run("logs", str(row["name"]), *HERE).stdout
    assert 200003 == done.stdout.count(b"\n")


def test_logs_of_several_runs_are_one_stream(kept: Dlf) -> None:
    """Short prefixes name the run."""
    names = [
        run_to_end(kept, *LOCAL, "--num_worker", "1", "--command", f"echo {word}")
        for word in ("one", "two")
    ]
    done = kept.run("logs", *names, *HERE, "--prefix", "short")
    assert sorted([f"{names[0]}/master-0 one", f"{names[1]}/master-0 two"]) == sorted(
        done.stdout.decode().splitlines()
    )


def test_flags_of_a_cluster_are_named(kept: Dlf) -> None:
    """They have no effect here; nor does it need a kubeconfig."""
    done = kept.run("list", *HERE, "-A", "-n", "ml")
    assert (
        0,
        "dlf: -A, -n have no effect with --runtime local\ndlf: no jobs of dlf on this machine\n",
    ) == (
        done.returncode,
        done.stderr.decode(),
    )


def test_runtime_may_come_from_its_variable(kept: Dlf) -> None:
    """The one of the training."""
    kept.env["DLF_RUNTIME"] = "local"
    name = run_to_end(kept, "pytorch", "--num_worker", "1", "--command", "echo x")
    assert f"{name}-master-0 x\n" == kept.run("logs", name).stdout.decode()


def test_names_are_completed(kept: Dlf) -> None:
    """Those of this machine where the words so far say so."""
    name = run_to_end(kept, *LOCAL, "--num_worker", "1", "--command", "true")
    done = kept.run("__complete", "--", "delete", *HERE, "pyt")
    assert f"{name}\n" == done.stdout.decode()


def test_old_runs_are_pruned(kept: Dlf) -> None:
    """`--dry-run` only names them."""
    name = run_to_end(kept, *LOCAL, "--num_worker", "1", "--command", "true")
    assert (
        "no job ended as long ago" in kept.run("prune", *HERE, "--older_than", "1h").stderr.decode()
    )
    time.sleep(1.1)
    dry = kept.run("prune", *HERE, "--older_than", "1s", "--dry-run").stderr.decode()
    assert dry.startswith(f"dlf: would delete PyTorchJob {name}, ended ")
    assert 1 == len(rows(kept))
    assert 0 == kept.run("prune", *HERE, "--older_than", "1s").returncode
    assert [] == rows(kept)


def test_run_without_a_home_is_not_kept(dlf: Dlf) -> None:
    """It says nothing of that; `list` does, and creates no home."""
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", "true")
    assert (0, False) == (done.returncode, b"kept" in done.stderr)
    listed = dlf.run("list", *HERE)
    assert (
        "dlf: no jobs of dlf on this machine: they are kept only where HOME is a directory, or"
        " XDG_STATE_HOME is set\n"
    ) == listed.stderr.decode()
    assert not Path("/nonexistent").exists()


def test_record_is_for_its_user_alone(kept: Dlf) -> None:
    """It has the command's output, and what its processes are found by."""
    name = run_to_end(kept, *LOCAL, "--num_worker", "1", "--command", "true")
    runs = kept.directory / "state/dlf/local"
    assert {0o700} == {path.stat().st_mode & 0o777 for path in (runs, runs / name / "logs")}


def test_run_that_could_not_begin_is_told(kept: Dlf) -> None:
    """An error of dlf itself is a reason, too."""
    (kept.directory / "file").touch()
    done = kept.run(*LOCAL, "--num_worker", "1", "--log_dir", "file", "--command", "true")
    assert 2 == done.returncode
    details = json.loads(kept.run("status", str(rows(kept)[0]["name"]), *HERE, "-o", "json").stdout)
    assert ("failed", "--log_dir='file' cannot be written: File exists", "never started") == (
        details["job"]["state"],
        details["reason"],
        details["pods"][0]["state"],
    )


@pytest.mark.parametrize(
    "state",
    [
        pytest.param("{}/file", id="a file"),
        pytest.param("{}/loop", id="a link to itself"),
        pytest.param("{}/" + "x" * 300, id="too long a name"),
        pytest.param("/proc/none", id="a file system that makes no directories"),
    ],
)
def test_job_does_not_depend_on_its_record(kept: Dlf, state: str) -> None:
    """One line says that it is not kept."""
    (kept.directory / "file").touch()
    (kept.directory / "loop").symlink_to("loop")
    directory = state.format(kept.directory)
    kept.env["XDG_STATE_HOME"] = directory
    done = kept.run(*LOCAL, "--num_worker", "2", "--command", "echo $RANK")
    assert (0, {"0", "1"}) == (
        done.returncode,
        {line.split()[1] for line in done.stdout.decode().splitlines()},
    )
    told = [line for line in done.stderr.decode().splitlines() if directory in line]
    assert 1 == len(told)
    assert told[0].startswith(f"dlf: cannot keep a record of this run in {directory}/dlf/local (")


@pytest.mark.parametrize("command", ["list", "status", "logs", "delete", "prune"])
def test_directory_that_cannot_be_read_is_an_error(kept: Dlf, command: str) -> None:
    """Of one line, for each command."""
    (kept.directory / "state").touch()
    words = {"list": [], "prune": ["--older_than", "1s"]}.get(command, ["job"])
    done = kept.run(command, *words, *HERE)
    assert (
        2,
        b"",
        f"dlf: cannot read {kept.directory}/state/dlf/local, where runs are kept: Not a directory;"
        " set XDG_STATE_HOME to the directory that has them\n",
    ) == (done.returncode, done.stdout, done.stderr.decode())
    completed = kept.run("__complete", "--", "delete", *HERE, "")
    assert (0, b"", b"") == (completed.returncode, completed.stdout, completed.stderr)


DAMAGES = [b"", b"2026-01", b"\n\n\n", b"\xff" * 40 + b"\n", b"\0" * 5000, b"no time\nat all\n"]


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--log_format", "json"],
        ["--timestamps"],
        ["--since", "1h"],
        ["--tail", "1"],
        ["--log_collapse"],
        ["--log_dir", "copies"],
    ],
    ids=lambda flags: flags[0] if flags else "plain",
)
def test_damaged_log_makes_no_traceback(kept: Dlf, flags: list[str]) -> None:
    """A disk that was full, or a machine that lost its power, left half a line."""
    pods = [
        RecordedPod(pod=f"job-worker-{rank}", role="worker", rank=rank, container="c")
        for rank in range(len(DAMAGES))
    ]
    runs = kept.directory / "state/dlf/local"
    events = [started(each.pod) for each in pods]
    record(runs, header(pods=pods), *events, finished()).close()
    for pod, damage in zip(pods, DAMAGES, strict=True):
        (runs / f"job/logs/{pod.pod}.c.log.0").write_bytes(damage)
    done = kept.run("logs", "job", *HERE, *flags)
    assert (0, b"") == (done.returncode, done.stderr)
