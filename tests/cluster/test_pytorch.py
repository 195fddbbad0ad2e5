"""`dlf pytorch` in a real cluster: what it prints, leaves behind and returns."""

import re
import signal
import subprocess
from contextlib import AbstractContextManager

import kubernetes
import pytest

from dlf.errors import ExitCode

from .image import WORKER_IMAGE
from .launch import PROJECT, launched, messages
from .ranks import IDLE, MEET
from .sandbox import wait_until
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180, func_only=True)]


def _pytorch(
    workspace: Workspace, command: str, **environment: str
) -> AbstractContextManager[subprocess.Popen[str]]:
    flags = ["--image", WORKER_IMAGE, "--num_worker", "3", "--command", command]
    return launched(workspace, "pytorch", *flags, **environment)


def _jobs(workspace: Workspace, client: kubernetes.client.ApiClient) -> list[str]:
    api = kubernetes.client.CustomObjectsApi(client)
    where = ("kubeflow.org", "v1", workspace.namespace, "pytorchjobs")
    listed: dict[str, list[dict[str, dict[str, str]]]]
    listed = api.list_namespaced_custom_object(*where)  # type: ignore[assignment]
    return [job["metadata"]["name"] for job in listed["items"]]


def test_pytorch_succeeds_with_every_line_of_every_rank(workspace: Workspace) -> None:
    """A job whose ranks all end with 0 is a success, and no line is lost, doubled or reordered."""
    command = f"seq 1 20000; echo rank $RANK of $WORLD_SIZE; python3 -c '{MEET}'"
    with _pytorch(workspace, command) as dlf:
        output, errors = dlf.communicate()
    expected = {
        pod: [*map(str, range(1, 20001)), f"rank {rank} of 3"]
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1"))
    }
    assert (dlf.returncode, messages(output)) == (ExitCode.SUCCEEDED, expected), errors
    phases = r"  queued \w+, pulled in \w+, started in \w+, ran \w+; 3 pods, 0 restarts"
    assert re.fullmatch(f"dlf: {phases}", errors.splitlines()[-1]), errors


def test_pytorch_trains_the_example(workspace: Workspace) -> None:
    """The example of the README trains on three pods that find each other by name."""
    volume = f"{PROJECT / 'examples'}(hostpath):/mnt/examples"
    command = "python3 /mnt/examples/pytorch/train.py"
    with _pytorch(workspace, command, KFJ_TASK_VOLUME_MOUNT=volume) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    assert sorted(messages(output)) == ["master-0", "worker-0", "worker-1"]


def test_pytorch_fails_when_a_rank_fails(workspace: Workspace) -> None:
    """The exit code of a rank is told, and the job is a failure."""
    with _pytorch(workspace, '[ "$RANK" = 2 ] && exit 7; sleep 1000') as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, output + errors
    assert "worker-1 (worker, rank 2): exit code 7" in errors


def test_pytorch_deletes_its_job_on_sigterm(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """A stopped task leaves nothing running."""
    with _pytorch(workspace, IDLE) as dlf:
        assert dlf.stdout is not None
        assert "started" in dlf.stdout.readline()
        dlf.send_signal(signal.SIGTERM)
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SIGTERM, output + errors
    wait_until(lambda: _jobs(workspace, client) == [], "end of the job")


def test_pytorch_tells_that_its_job_was_deleted(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """A job deleted by somebody else is neither a success nor a failure."""
    api = kubernetes.client.CustomObjectsApi(client)
    with _pytorch(workspace, IDLE) as dlf:
        assert dlf.stdout is not None
        assert "started" in dlf.stdout.readline()
        (job,) = _jobs(workspace, client)
        api.delete_namespaced_custom_object(
            "kubeflow.org", "v1", workspace.namespace, "pytorchjobs", job
        )
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.DELETED, output + errors


def test_pytorch_says_that_cards_are_missing(workspace: Workspace) -> None:
    """The scheduler's own words tell why a pod is pending."""
    with _pytorch(
        workspace, "sleep 1000", KFJ_TASK_RESOURCE_GPU="8", GPU_RESOURCE_NAME="nvidia.com/gpu"
    ) as dlf:
        assert dlf.stderr is not None
        assert any("Insufficient nvidia.com/gpu" in line for line in dlf.stderr)
