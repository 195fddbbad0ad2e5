"""Jobs on this machine, through the command line: what the processes get, and what they print."""

import json
import os
import re
import stat

import pytest
from local.dlf_process import Dlf
from local.reading import LOCAL, printed


def test_run_gives_each_rank_its_environment(dlf: Dlf) -> None:
    """Three pods get the ranks of a PyTorchJob, the Master's address and its port."""
    done = dlf.run(*LOCAL, "--command", "env")
    assert 0 == done.returncode, done.stderr.decode()
    environments = {
        pod: dict(line.split("=", 1) for line in lines if "=" in line)
        for pod, lines in printed(done.stdout).items()
    }
    assert {"master-0": "0", "worker-0": "1", "worker-1": "2"} == {
        pod: env["RANK"] for pod, env in environments.items()
    }
    (master,) = {(env["MASTER_ADDR"], env["MASTER_PORT"]) for env in environments.values()}
    assert re.fullmatch(r"127\.\d+\.\d+\.1", master[0])
    for env in environments.values():
        assert {
            "MASTER_ADDR": master[0],
            "WORLD_SIZE": "3",
            "PET_NNODES": "3",
            "PET_NODE_RANK": env["RANK"],
            "PET_NPROC_PER_NODE": "1",
            "PET_MASTER_ADDR": master[0],
            "PET_MASTER_PORT": env["MASTER_PORT"],
            "NCCL_SOCKET_IFNAME": "lo",
        }.items() <= env.items()


def test_run_prints_every_line_of_every_rank_once_and_in_order(dlf: Dlf) -> None:
    """Four ranks that print 50 000 lines each at the same time."""
    done = dlf.run(*LOCAL, "--num_worker", "4", "--command", "seq 50000")
    assert 0 == done.returncode, done.stderr.decode()
    expected = [str(number) for number in range(1, 50001)]
    pods = printed(done.stdout)
    assert ["master-0", "worker-0", "worker-1", "worker-2"] == sorted(pods)
    assert all(expected == lines for lines in pods.values())


def test_run_waits_for_a_slow_reader(dlf: Dlf) -> None:
    """A reader that starts late gets every line, more than any buffer holds: nothing is dropped."""
    with dlf.start(*LOCAL, "--num_worker", "1", "--command", "seq 400000; exit 3") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stderr.readline()  # dlf has begun; nobody reads what the pod prints
        out = process.stdout.read()
        err = process.stderr.read()
    assert first.endswith(b": 1 process on this machine\n")
    assert 400000 == len(out.splitlines())
    assert b"exit code 3" in err


def test_run_keeps_stdout_and_stderr_of_a_pod_in_order(dlf: Dlf) -> None:
    """Both go through one pipe, as in a container's log."""
    command = "for i in 1 2 3; do echo out $i; echo err $i >&2; done"
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", command)
    expected = ["out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]
    assert {"master-0": expected} == printed(done.stdout)


def test_run_passes_bytes_through(dlf: Dlf) -> None:
    """What is not UTF-8, a line of 3 MB, and a last line without newline, which gets one."""
    command = r"printf 'a\xff\r\0b\n'; head -c 3000000 /dev/zero | tr '\0' x; printf '\nend'"
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", command)
    prefix = done.stdout.split(b" ")[0] + b" "
    expected = [b"a\xff\r\0b", b"x" * 3000000, b"end"]
    assert b"".join(prefix + line + b"\n" for line in expected) == done.stdout


def test_run_starts_a_volcano_job_anew(dlf: Dlf) -> None:
    """RestartJob starts all pods again, as often as maxRetry says."""
    command = "echo $VC_TASK_INDEX; ! mkdir once 2>/dev/null"
    words = ("mindspore", "--runtime", "local", "--num_worker", "1", "--command", command)
    done = dlf.run(*words, "--max_retry", "1")
    assert 0 == done.returncode, done.stderr.decode()
    assert {"worker-0": ["0", "0"]} == printed(done.stdout)
    assert b"attempt 2 of 2" in done.stderr


def test_run_works_in_the_directory_given(dlf: Dlf) -> None:
    """--working_dir, when the user gave it; else where dlf was started."""
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", "pwd")
    assert {"master-0": [str(dlf.directory)]} == printed(done.stdout)
    done = dlf.run(*LOCAL, "--num_worker", "1", "--working_dir", "/usr", "--command", "pwd")
    assert {"master-0": ["/usr"]} == printed(done.stdout)


def test_run_prints_as_on_kubernetes(dlf: Dlf) -> None:
    """The log flags: format, ranks, and a file for each container."""
    done = dlf.run(
        *LOCAL, "--log_format", "json", "--log_ranks", "1", "--log_dir", "logs", "--command", "echo"
    )
    (line,) = done.stdout.splitlines()
    fields = json.loads(line)
    assert {"role": "worker", "rank": 1, "container": "pytorch", "message": ""} == {
        key: fields[key] for key in ("role", "rank", "container", "message")
    }
    assert 3 == len(list((dlf.directory / "logs").iterdir()))


def test_run_collapses_what_all_ranks_say(dlf: Dlf) -> None:
    """--log_collapse: once, then how many repeated it, at the latest when the job has ended."""
    together = "touch $RANK; until [ -e 0 -a -e 1 -a -e 2 ]; do sleep 0.01; done"
    done = dlf.run(*LOCAL, "--log_collapse", "--command", f"{together}; echo same")
    messages = sorted(line.split(" ", 1)[1] for line in done.stdout.decode().splitlines())
    assert ["[and 2 other pods] same", "same"] == messages


def test_run_prints_in_colour_where_it_is_wanted(dlf: Dlf) -> None:
    """Each pod's name, as on Kubernetes."""
    done = dlf.run(*LOCAL, "--num_worker", "1", "--command", "echo hi", CLICOLOR_FORCE="1")
    assert done.stdout.startswith(b"\x1b[")
    assert done.stdout.endswith(b"-master-0\x1b[0m hi\n")


@pytest.mark.parametrize(
    ("words", "path", "told"),
    [
        pytest.param(LOCAL, "/nonexistent", "'bash' is not installed here", id="no bash"),
        pytest.param(
            ("mpi", "--runtime", "local"),
            "/nonexistent",
            "'mpirun' is not installed here (it is not in PATH); install Open MPI",
            id="no mpirun",
        ),
        pytest.param(
            (*LOCAL, "--working_dir", "/nonexistent"),
            os.environ["PATH"],
            "--working_dir='/nonexistent' does not exist on this machine",
            id="no directory",
        ),
        pytest.param(
            ("mindspore", "--runtime", "local", "--command", "cd /; msrun --join=True train.py"),
            os.environ["PATH"],
            "msrun cannot run in 3 pods on one machine: it takes the master's address",
            id="msrun in several pods",
        ),
    ],
)
def test_run_says_what_this_machine_lacks(
    dlf: Dlf, words: tuple[str, ...], path: str, told: str
) -> None:
    """In one line, before anything runs."""
    done = dlf.run(*words, PATH=path)
    assert 2 == done.returncode
    assert told in done.stderr.decode().splitlines()[-1]
    assert b"" == done.stdout


@pytest.mark.parametrize("folder", ["a b", "a:b"])
def test_run_says_when_mpirun_could_not_name_its_remote_shell(dlf: Dlf, folder: str) -> None:
    """It takes the command apart at blanks and colons, and knows no quotes."""
    tmp = dlf.directory / folder
    tmp.mkdir()
    done = dlf.run("mpi", "--runtime", "local", TMPDIR=str(tmp))
    told = f"TMPDIR='{tmp}' contains a blank or a colon, at which mpirun"
    assert (2, b"") == (done.returncode, done.stdout)
    assert told in done.stderr.decode().splitlines()[-1]
    assert 0 == dlf.run(*LOCAL, "--command", "true", TMPDIR=str(tmp)).returncode


def test_run_gives_mpirun_hosts_and_a_remote_shell(dlf: Dlf) -> None:
    """The launcher runs as rendered; a worker is reached by the address in the host file."""
    mpirun = dlf.directory / "mpirun"
    mpirun.write_text(
        """#!/bin/bash
        echo "$@"
        while read -r host n; do
            $OMPI_MCA_plm_rsh_agent -x $host 'echo "$A at" "${OMPI_MCA_orte_tmpdir_base##*/}"' $n
        done < $OMPI_MCA_orte_default_hostfile
        $OMPI_MCA_plm_rsh_agent elsewhere true || echo $?
        """
    )
    mpirun.chmod(mpirun.stat().st_mode | stat.S_IXUSR)
    path = f"{dlf.directory}:{os.environ['PATH']}"
    flags = ("--slots_per_worker", "2", "--env", "A=b  'c'", "--command", "x  'y z'")
    done = dlf.run("mpi", "--runtime", "local", *flags, PATH=path)
    assert 0 == done.returncode, done.stderr.decode()
    arguments, *rest = printed(done.stdout)["launcher"]
    assert arguments.startswith("-np 4 ")
    assert arguments.endswith(" bash -c x  'y z'")
    job = re.search(r"MPIJob (\S+) succeeded", done.stderr.decode())
    assert job
    assert [
        f"b  'c' at {job[1]}-worker-0 slots=2",
        f"b  'c' at {job[1]}-worker-1 slots=2",
        "dlf: no worker of this job is named in: elsewhere true",
        "255",
    ] == rest
    assert b"the 2 workers are started by mpirun" in done.stderr
