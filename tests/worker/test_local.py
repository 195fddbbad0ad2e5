"""The worker on the local runtime: every pod has an address of its own there."""

import os
import subprocess
from pathlib import Path

import pytest
from worker.test_worker import PROJECT


def locally(dlf_command: list[str], *words: str) -> tuple[int, list[str], str]:
    """Run `dlf deepspeed --runtime local`; exit code, lines with `worker-N` first, stderr."""
    done = subprocess.run(
        [*dlf_command, "deepspeed", "--runtime", "local", *words],
        cwd=PROJECT,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    lines = ["-".join(line.split("-")[-2:]) for line in done.stdout.splitlines()]
    return done.returncode, sorted(lines), done.stderr


def test_processes_of_each_pod_are_numbered(dlf_command: list[str]) -> None:
    flags = ["--num_worker", "2", "--processes", "2", "--process_env"]
    code, lines, err = locally(dlf_command, *flags, "--command", "echo $RANK $PROCESS_INDEX")
    expected = [f"worker-{rank} [{index}] {rank} {index}" for rank in (0, 1) for index in (0, 1)]
    assert (0, expected) == (code, lines), err


def test_first_pod_reaches_the_others(dlf_command: list[str], tmp_path: Path) -> None:
    """By the addresses of the host file, with the secret of the job; then all pods end well."""
    script = tmp_path / "hosts.sh"
    script.write_text(
        "hosts=$(cut -d' ' -f1 $DLF_WORKER_HOSTFILE | paste -sd,)\n"
        "pdsh -N -S -w $hosts 'echo pod $VC_TASK_INDEX as %n'\n"
    )
    code, lines, err = locally(
        dlf_command,
        *("--num_worker", "3", "--remote", "--hostfile"),
        *("--command", f"bash {script}"),
    )
    assert (0, [f"worker-0 pod {rank} as {rank}" for rank in range(3)]) == (code, lines), err
    assert "3 processes on this machine" in err.splitlines()[0]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--remote", "--processes", "2"], "--remote starts the command once, in the first pod"),
        (["--worker", "off", "--remote"], "--worker=off, but --remote needs the worker"),
    ],
)
def test_what_does_not_go_together_is_said(
    dlf_command: list[str], flags: list[str], message: str
) -> None:
    _, lines, err = locally(dlf_command, "--num_worker", "2", *flags, "--command", "echo ran")
    assert message in " ".join([*lines, err])
    assert "worker-0 ran" not in lines
