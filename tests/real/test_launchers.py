"""Launchers that start their processes in other pods by ssh and pdsh, over `dlf worker --remote`.

The pods are those of the local runtime, each with an address of its own. No sshd, key or pdsh of
this machine takes part: the worker's `ssh` and `pdsh` come first on the PATH.
"""

from pathlib import Path

import pytest

from dlf.errors import ExitCode

from .environments import DEEPSPEED
from .runs import Run, run

pytestmark = [pytest.mark.real, pytest.mark.large, pytest.mark.timeout(600)]

_TRAIN = """
import argparse, os, sys
import torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.add_argument("--fails", type=int, default=-1)
arguments = parser.parse_args()
dist.init_process_group("gloo")
total = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(total)
print("rank", dist.get_rank(), "in pod", os.environ["VC_TASK_INDEX"], "sum", int(total), flush=True)
sys.exit(7 if dist.get_rank() == arguments.fails else 0)
"""


def _deepspeed(folder: Path, *arguments: str) -> Run:
    script = folder / "train.py"
    script.write_text(_TRAIN)
    command = f"deepspeed --hostfile $DLF_WORKER_HOSTFILE {script} {' '.join(arguments)}"
    flags = ["--num_worker", "3", "--remote", "--hostfile", "--slots", "1"]
    variables = ["--env=DS_ACCELERATOR=cpu", "--env=GLOO_SOCKET_IFNAME=lo"]
    words = ["deepspeed", "--runtime", "local", *flags, *variables, "--command", command]
    return run(words, DEEPSPEED, folder / "report")


def test_deepspeed_launcher_starts_all_pods(tmp_path: Path) -> None:
    """Unchanged, with its default launcher, pdsh: a rank in each pod, and they meet."""
    ran = _deepspeed(tmp_path)
    ranks = [line[line.index("rank ") :] for line in ran.output.splitlines() if " sum " in line]
    expected = [f"rank {rank} in pod {rank} sum 6" for rank in range(3)]
    assert (ExitCode.SUCCEEDED, expected) == (ran.code, sorted(ranks)), ran.output + ran.errors
    assert "cmd = pdsh -S -f 1024 -w " in ran.output


def test_deepspeed_launcher_fails_with_a_rank(tmp_path: Path) -> None:
    """The rank's exit code comes through pdsh and the launcher to the first pod, and the job."""
    ran = _deepspeed(tmp_path, "--fails", "1")
    assert ExitCode.FAILED == ran.code, ran.output + ran.errors
    assert [("worker-0", 7)] == [
        ("-".join(each.pod.split("-")[-2:]), each.exit_code) for each in ran.failures[:1]
    ], ran.output + ran.errors
