"""The remote shell by which mpirun starts ranks in workers that are processes of this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from dlf.local.remote_shell import script

WORKERS = [
    ("127.64.0.1", "job-worker-0", {"NAME": "zero", "OTHER": "it's $HOME"}),
    ("127.64.0.2", "job-worker-1", {"NAME": "one"}),
]


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    file = folder / "a b" / "rsh"
    file.parent.mkdir()
    file.write_text(script(WORKERS))
    return subprocess.run(["sh", file, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "host",
    ["127.64.0.2", "job-worker-1", "job-worker-1.job", "job-worker-1.job.default.svc"],
)
def test_remote_shell_knows_a_worker_by_address_and_name(host: str, tmp_path: Path) -> None:
    """As the operators write the name in the host file; what ssh is told before it is passed by."""
    done = run(tmp_path, "-x", "-p", "22", host, "echo", "$NAME; exit 3")
    assert (3, "one\n") == (done.returncode, done.stdout)


def test_remote_shell_runs_in_the_workers_environment(tmp_path: Path) -> None:
    """Its variables as they are written, beside those of mpirun; and a folder of its own."""
    done = run(tmp_path, "job-worker-0", 'echo "$OTHER"; echo "$PATH"')
    assert f"it's $HOME\n{os.environ['PATH']}\n" == done.stdout
    assert (tmp_path / "a b" / "job-worker-0").is_dir()


@pytest.mark.parametrize("host", ["127.64.0.3", "job-worker-10", "elsewhere"])
def test_remote_shell_refuses_other_hosts(host: str, tmp_path: Path) -> None:
    """As ssh does: a line on stderr, and 255."""
    done = run(tmp_path, host, "true")
    said = f"dlf: no worker of this job is named in: {host} true\n"
    assert (255, "", said) == (done.returncode, done.stdout, done.stderr)
