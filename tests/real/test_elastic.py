"""Elastic PyTorch: training-operator's elasticPolicy, torchrun, and a job that changes its size."""

import re
import sys
from pathlib import Path

import kubernetes
import pytest
from cluster.conftest import client
from cluster.image import WORKER_IMAGE
from cluster.launch import launched
from cluster.workspace import Workspace

from dlf.errors import ExitCode

from .cases import TORCH
from .runs import PROJECT

__all__ = ["client"]
pytestmark = [pytest.mark.real, pytest.mark.timeout(300, func_only=True)]

# torch 1.13 takes its own default "no redirects" for None under Python 3.11; these are of a second
# process, which no pod has.
_NO_REDIRECTS = "--redirects 1:1 --tee 1:1"
TORCHRUN = (
    "python3 -m torch.distributed.run --rdzv_conf last_call_timeout=3 --monitor_interval 1 "
    + _NO_REDIRECTS
)


def test_job_survives_a_lost_torchrun_and_a_smaller_size(
    workspace: Workspace, client: kubernetes.client.ApiClient, tmp_path: Path
) -> None:
    """Three ranks meet, lose one, meet again, and two go on when the job has only two Workers."""
    home = TORCH.environment.build()
    mounted = ["/usr", "/etc/alternatives", home, PROJECT, tmp_path]
    script = PROJECT / "tests/real/elastic_train.py"
    with launched(
        workspace,
        "pytorch",
        *("--num_worker", "3", "--min_worker", "2", "--max_worker", "3", "--max_retry", "5"),
        f"--image={WORKER_IMAGE}",
        f"--env=PATH={home / 'bin'}:/bin:/usr/bin",
        f"--command={TORCHRUN} {script} {tmp_path}; exit $?",
        KFJ_TASK_VOLUME_MOUNT=";".join(f"{folder}(hostpath):{folder}" for folder in mounted),
        KFJ_TASK_RESOURCE_CPU="0.3",
        KFJ_TASK_RESOURCE_MEMORY="1Gi",
    ) as dlf:
        assert dlf.stdout is not None
        lines: list[str] = []
        for line in dlf.stdout:
            lines.append(line)
            if "rank 0 of 3" in line and sum("rank 0 of 3" in each for each in lines) == 2:
                _scale(client, workspace, 2)
        errors = dlf.stderr.read() if dlf.stderr else ""
        code = dlf.wait()
    output = "".join(lines)
    print(output, errors, file=sys.stderr)
    assert code == ExitCode.SUCCEEDED, output + errors
    meetings = re.findall(r"worker-\d rank (\d of \d)$", output, re.MULTILINE)
    assert sorted(meetings[:6]) == sorted(["0 of 3", "1 of 3", "2 of 3"] * 2)
    assert sorted(meetings[6:]) == ["0 of 2", "1 of 2"]
    assert 2 == output.count("2 ranks have made 5 steps\n")


def _scale(client: kubernetes.client.ApiClient, workspace: Workspace, workers: int) -> None:
    """Give the job another number of Workers, as an autoscaler does."""
    api = kubernetes.client.CustomObjectsApi(client)
    where = ("kubeflow.org", "v1", workspace.namespace, "pytorchjobs")
    (job,) = api.list_namespaced_custom_object(*where)["items"]  # type: ignore[index]
    change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": workers}}}}
    api.patch_namespaced_custom_object(*where, job["metadata"]["name"], change)
