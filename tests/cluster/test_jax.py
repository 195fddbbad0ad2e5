"""`dlf jax` in a real cluster: a JAXJob of training-operator 1.9."""

import pytest

from dlf.errors import ExitCode

from .image import WORKER_IMAGE
from .launch import PROJECT, finished
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]


def test_jax_succeeds_with_the_operators_environment(workspace: Workspace) -> None:
    """The resource is accepted by the webhook, and each process knows its place."""
    command = "echo $PROCESS_ID of $NUM_PROCESSES at ${COORDINATOR_ADDRESS##*-}:$COORDINATOR_PORT"
    flags = ["--num_worker", "2", "--image", WORKER_IMAGE, "--command", command]
    code, printed, errors = finished(workspace, "jax", *flags)
    expected = {f"worker-{rank}": [f"{rank} of 2 at 0:6666"] for rank in range(2)}
    assert (code, printed) == (ExitCode.SUCCEEDED, expected), errors


def test_jax_trains_the_example(workspace: Workspace) -> None:
    """Three pods find the coordinator by name."""
    volume = f"{PROJECT / 'examples'}(hostpath):/mnt/examples"
    command = "python3 /mnt/examples/jax/train.py"
    flags = ["--num_worker", "3", "--image", WORKER_IMAGE, "--command", command]
    code, printed, errors = finished(workspace, "jax", *flags, KFJ_TASK_VOLUME_MOUNT=volume)
    assert code == ExitCode.SUCCEEDED, errors
    assert sorted(printed) == ["worker-0", "worker-1", "worker-2"]
    assert "rank 0 of 3: 400 samples" in printed["worker-0"]


def test_jax_fails_when_a_process_fails(workspace: Workspace) -> None:
    """Its pod, rank and exit code are told, and the job is a failure."""
    command = '[ "$PROCESS_ID" = 1 ] && exit 7; sleep 1000'
    flags = ["--num_worker", "2", "--image", WORKER_IMAGE, "--command", command]
    code, _, errors = finished(workspace, "jax", *flags)
    assert code == ExitCode.FAILED, errors
    assert "rank 1" in errors
    assert "exit code 7" in errors
