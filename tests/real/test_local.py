"""The examples with their real frameworks on the local runtime."""

import re
from pathlib import Path

import pytest

from dlf.errors import ExitCode

from .cases import LARGE, PARAMETER_SERVERS, SMALL, Case
from .runs import assert_trained, expected, locally, short
from .table import Table

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
CASES = [
    *(pytest.param(case, id=case.name) for case in SMALL),
    *(pytest.param(case, id=case.name, marks=pytest.mark.large) for case in LARGE),
]


@pytest.mark.parametrize("case", CASES)
def test_example_trains_with_all_ranks(case: Case, tmp_path: Path, table: Table) -> None:
    """Every rank is there once, in its pod, sees all others, and the loss falls."""
    with table.cell(case.name, "local", "trains") as cell:
        run = cell.ran(locally(case, tmp_path / "report"), case.library)
        assert_trained(case, run)


def test_parameter_servers_train(tmp_path: Path, table: Table) -> None:
    """Chief, server and workers know their roles, and the job ends with the chief."""
    case = PARAMETER_SERVERS
    with table.cell(case.name, "local", "trains") as cell:
        run = cell.ran(locally(case, tmp_path / "report"), case.library)
        assert_trained(case, run)
        roles = sorted(re.findall(r"(\S+-\d) role (\w+), index (\d)", run.output))
        told = {short(pod): f"{role}-{index}" for pod, role, index in roles}
        assert told == {pod: pod for pod in ("chief-0", "ps-0", "worker-0", "worker-1")}


@pytest.mark.parametrize("case", CASES)
def test_killed_rank_ends_the_job_and_is_named(case: Case, tmp_path: Path, table: Table) -> None:
    """The job ends by itself; the pod, its rank, and how it ended are told first."""
    with table.cell(case.name, "local", "rank killed") as cell:
        run = cell.ran(locally(case, tmp_path / "report", "kill:1"), case.library)
        assert run.code == ExitCode.FAILED, run.output + run.errors
        assert run.first_failure == expected(case, run, case.killed), run.output + run.errors


@pytest.mark.parametrize("case", CASES)
def test_raising_rank_ends_the_job_and_is_shown(case: Case, tmp_path: Path, table: Table) -> None:
    """The job ends by itself; the pod and its rank are told first, with the exception."""
    with table.cell(case.name, "local", "rank raises") as cell:
        run = cell.ran(locally(case, tmp_path / "report", "raise:1"), case.library)
        assert run.code == ExitCode.FAILED, run.output + run.errors
        assert run.first_failure == expected(case, run, 1), run.output + run.errors
        assert "RuntimeError: rank 1 raises" in run.errors, run.output + run.errors
