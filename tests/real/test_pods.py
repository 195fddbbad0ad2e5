"""The examples with their real frameworks in pods, which mount the environment."""

import time
from pathlib import Path

import pytest
from cluster.image import WORKER_IMAGE
from cluster.launch import launched
from cluster.workspace import Workspace

from dlf.errors import ExitCode

from .cases import MPI4PY, TORCH, Case
from .runs import PROJECT, Run, assert_trained, expected, faulty, read_report
from .table import Table

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300, func_only=True),
    pytest.mark.usefixtures("kubectl_image"),
]
CASES = [pytest.param(case, id=case.name) for case in (TORCH, MPI4PY)]


@pytest.mark.parametrize("case", CASES)
def test_example_trains_in_pods(
    case: Case, workspace: Workspace, tmp_path: Path, table: Table
) -> None:
    """Every rank is there once, in its pod, sees all others, and the loss falls."""
    with table.cell(case.name, "cluster", "trains") as cell:
        run = cell.ran(in_pods(workspace, case, tmp_path / "report"), case.library)
        assert_trained(case, run)


@pytest.mark.parametrize("case", CASES)
def test_killed_rank_in_a_pod_is_named(
    case: Case, workspace: Workspace, tmp_path: Path, table: Table
) -> None:
    """The job ends by itself; the pod, its rank, and how it ended are told first."""
    with table.cell(case.name, "cluster", "rank killed") as cell:
        run = cell.ran(in_pods(workspace, case, tmp_path / "report", "kill:1"), case.library)
        assert run.code == ExitCode.FAILED, run.output + run.errors
        assert run.first_failure == expected(case, run, case.killed), run.output + run.errors


@pytest.mark.parametrize("case", CASES)
def test_raising_rank_in_a_pod_is_shown(
    case: Case, workspace: Workspace, tmp_path: Path, table: Table
) -> None:
    """The job ends by itself; the pod and its rank are told first, with the exception."""
    with table.cell(case.name, "cluster", "rank raises") as cell:
        run = cell.ran(in_pods(workspace, case, tmp_path / "report", "raise:1"), case.library)
        assert run.code == ExitCode.FAILED, run.output + run.errors
        assert run.first_failure == expected(case, run, 1), run.output + run.errors
        assert "RuntimeError: rank 1 raises" in run.errors, run.output + run.errors


def in_pods(workspace: Workspace, case: Case, report: Path, fault: str = "") -> Run:
    """Run a case in the cluster, with Debian's programs and the environment from this machine."""
    began = time.monotonic()
    home = case.environment.build()
    mounted = ["/usr", "/etc/alternatives", "/etc/openmpi", home, PROJECT]
    flags = [
        *case.flags,
        "--work_images" if case is MPI4PY else "--image",
        WORKER_IMAGE,
        f"--working_dir={PROJECT}",
        f"--env=PATH={home / 'bin'}:/bin:/usr/bin",
        f"--command={case.command}; exit $?",  # else Python is process 1, and cannot kill itself
        f"--report={report}",
        *faulty(fault),
    ]
    with launched(
        workspace,
        case.framework,
        *flags,
        KFJ_TASK_VOLUME_MOUNT=";".join(f"{folder}(hostpath):{folder}" for folder in mounted),
        KFJ_TASK_RESOURCE_CPU="0.5",
        KFJ_TASK_RESOURCE_MEMORY="1Gi",
    ) as dlf:
        output, errors = dlf.communicate()
    seconds = time.monotonic() - began
    return Run(dlf.returncode, output, errors, read_report(report), seconds)
