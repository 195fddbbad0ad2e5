"""Where the outcome of a job is told beside stderr: `--report` and the termination message."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from commands.console import Console
from fake_api import FakeApi

from dlf.commands import train
from dlf.errors import ExitCode


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """/dev/termination-log, as the kubelet makes it."""
    path = tmp_path / "termination-log"
    path.touch()
    return path


def refuse(api: FakeApi) -> None:
    api.denied.add(("create", "pytorchjobs.kubeflow.org"))


def test_refusal_is_in_the_report_and_in_the_termination_message(
    cluster_here: Console, tmp_path: Path, message: Path
) -> None:
    """Argo shows the step's message; an error has one as well as a result."""
    cluster_here.api.call(refuse)
    report = tmp_path / "report.json"

    with patch.object(train, "_TERMINATION_LOG", str(message)):
        code = cluster_here.run("pytorch", "--image", "i", "--report", str(report))

    told = json.loads(report.read_text())
    assert code == ExitCode.REJECTED
    assert (told["result"], told["exit_code"], told["job"]) == ("rejected", 3, "")
    assert told["reason"].startswith("cannot create pytorchjobs.kubeflow.org in namespace ml")
    assert message.read_text() == told["reason"]
    assert cluster_here.said[-1] == told["reason"]


def test_report_that_cannot_be_written_costs_a_line(cluster: Console) -> None:
    """The exit code stays that of the job."""
    cluster.api.call(refuse)

    code = cluster.run("pytorch", "--image", "i", "--report", "/dev/full")

    assert code == ExitCode.REJECTED
    assert "cannot write /dev/full: No space left on device" in cluster.said


@pytest.mark.parametrize("mode", ["client", "server"])
def test_dry_run_writes_no_report(cluster_here: Console, tmp_path: Path, mode: str) -> None:
    """It has no result; an empty file would look like a report that could not be written."""
    report = tmp_path / "report.json"

    code = cluster_here.run("pytorch", "--image=i", f"--dry-run={mode}", "--report", str(report))

    assert (code, report.exists()) == (ExitCode.SUCCEEDED, False)


def test_missing_termination_log_is_no_matter(cluster_here: Console, tmp_path: Path) -> None:
    """Outside of a pod there is none, and none is made."""
    cluster_here.api.call(refuse)
    path = tmp_path / "none"

    with patch.object(train, "_TERMINATION_LOG", str(path)):
        cluster_here.run("pytorch", "--image", "i")

    assert not path.exists()


def test_detached_job_is_named_and_runs_on(cluster: Console) -> None:
    """Its name is all of stdout; it is there, without an owner, and `dlf logs` finds it."""
    assert cluster.run("pytorch", "--image", "i", "--detach") == ExitCode.SUCCEEDED
    name = cluster.out.strip()
    assert cluster.out == f"{name}\n"
    assert cluster.said == [f"submitted PyTorchJob {name} in namespace ml"]
    job = cluster.api.call(lambda api: api.store.get(api.collection("pytorchjobs", "ml"), name))
    assert "ownerReferences" not in job["metadata"]
    assert cluster.run("logs", name, "--no_follow") == ExitCode.SUCCEEDED
