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
            "paddle",
            ["--num_worker", "1"],
            "echo $PADDLE_NNODES $PADDLE_JOB_ID | sed s/-....$//",
            {"worker-0": ["1 paddlejob-digits"]},
            id="paddle",
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
