"""`dlf mxnet` with training-operator 1.8, the last one that serves MXJob."""

from collections.abc import Iterator

import pytest

from dlf.errors import ExitCode

from .cluster import Cluster, running_cluster
from .image import WORKER_IMAGE
from .launch import finished
from .operators import TRAINING_OPERATOR_1_8
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180, func_only=True)]


_MEET = """
import os, socket, time
address = os.environ["DMLC_PS_ROOT_URI"], int(os.environ["DMLC_PS_ROOT_PORT"])
print(os.environ["DMLC_ROLE"], "of", os.environ["DMLC_NUM_WORKER"], flush=True)
if os.environ["DMLC_ROLE"] == "scheduler":
    with socket.create_server(("", address[1])) as server:
        for _ in range(2):
            server.accept()[0].close()
    raise SystemExit
while True:
    try:
        socket.create_connection(address).close()
        break
    except OSError:
        time.sleep(0.2)
"""
"""Ends in all roles together: the operator calls the job finished when its scheduler is."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of this file's own."""
    with running_cluster(TRAINING_OPERATOR_1_8) as running:
        yield running


def test_mxnet_runs_all_roles(workspace: Workspace) -> None:
    """Scheduler, server and worker each learn their role from the operator."""
    flags = ["--image", WORKER_IMAGE, "--num_worker", "1", "--num_ps", "1"]
    command = f"python3 -c '{_MEET}'"
    code, printed, errors = finished(workspace, "mxnet", *flags, "--command", command)
    expected = {f"{role}-0": [f"{role} of 1"] for role in ("scheduler", "server", "worker")}
    assert (code, printed) == (ExitCode.SUCCEEDED, expected), errors
