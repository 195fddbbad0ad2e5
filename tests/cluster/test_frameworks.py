"""Every other framework that the training operator serves: accepted, run and decided by it."""

import pytest

from dlf.errors import ExitCode

from .image import WORKER_IMAGE
from .launch import finished
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]


@pytest.mark.parametrize(
    ("framework", "flags", "command", "expected"),
    [
        pytest.param(
            "tf",
            ["--num_worker", "2"],
            'python3 -c \'import json, os; print(json.loads(os.environ["TF_CONFIG"])["task"])\'',
            {
                "worker-0": ["{'type': 'worker', 'index': 0}"],
                "worker-1": ["{'type': 'worker', 'index': 1}"],
            },
            id="tf",
        ),
        pytest.param(
            "tf",
            ["--num_worker", "1", "--num_chief", "1", "--num_ps", "1"],
            'case "$TF_CONFIG" in *\'"type":"ps"\'*) trap exit TERM; sleep 1000 & wait;; esac; '
            'echo "$TF_CONFIG" | grep -o \'"type":"[a-z]*"\'',
            {"chief-0": ['"type":"chief"'], "worker-0": ['"type":"worker"']},
            id="tf with a chief and a server",
        ),
        pytest.param(
            "paddle",
            ["--num_worker", "2"],
            "echo $PADDLE_RANK of $PADDLE_NNODES ${PADDLE_LOG_DIR##*-}",
            {"worker-0": ["0 of 2 0"], "worker-1": ["1 of 2 1"]},
            id="paddle",
        ),
        pytest.param(
            "paddle",
            ["--num_worker", "1", "--num_ps", "1"],
            "echo $PADDLE_RANK of $PADDLE_NNODES",
            {"master-0": ["0 of 2"], "worker-0": ["1 of 2"]},
            id="paddle with a server",
        ),
        pytest.param(
            "mindformers",
            ["--num_worker", "1"],
            "bash -c 'echo $1 $2 $4 $5 $6' --",
            {"master-0": ["1 1 23456 0 output/msrun_log"]},
            id="mindformers",
        ),
    ],
)
def test_framework_succeeds_with_the_operators_environment(
    workspace: Workspace,
    framework: str,
    flags: list[str],
    command: str,
    expected: dict[str, list[str]],
) -> None:
    """The resource is accepted by the webhooks, and each pod knows its part."""
    flags = [*flags, "--image", WORKER_IMAGE, "--command", command]
    code, printed, errors = finished(workspace, framework, *flags)
    assert (code, printed) == (ExitCode.SUCCEEDED, expected), errors
