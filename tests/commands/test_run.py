"""`dlf run --file`: a resource written by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from commands.console import NAMESPACE, Console
from fake_api import FakeApi
from waiting import beside, until

from dlf.errors import ExitCode

JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "by-hand", "labels": {"team": "a"}, "annotations": {"note": "mine"}},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "new": [1, None, "x"]}}},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(JOB))
    return path


def submitted(cluster: Console) -> dict[str, Any]:
    where = cluster.api.call(lambda api: api.collection("pytorchjobs", NAMESPACE))
    job: dict[str, Any] = cluster.api.call(lambda api: api.store.get(where, "by-hand"))
    return job


def test_resource_is_submitted_as_it_is(cluster: Console, file: Path) -> None:
    """With the labels by which a re-run finds it, and dlf's annotations; fields of any version."""
    cluster.env |= {"KFJ_RUN_ID": "r", "KFJ_TASK_ID": "7"}

    assert cluster.run("run", "--file", str(file), "--detach") == ExitCode.SUCCEEDED
    assert cluster.out == "by-hand\n"
    job = submitted(cluster)
    assert job["spec"] == JOB["spec"]
    assert job["metadata"]["labels"] == {"team": "a", "run-id": "r", "task-id": "7"}
    assert job["metadata"]["annotations"]["note"] == "mine"
    assert job["metadata"]["annotations"]["dlf/spec-hash"]


def test_resource_is_followed_to_its_result(cluster: Console, file: Path) -> None:
    """The exit code is the job's."""

    def jobs(api: FakeApi) -> list[Any]:
        return list(api.store.list(api.collection("pytorchjobs", NAMESPACE)))

    def end(api: FakeApi) -> None:
        jobs = api.collection("pytorchjobs", NAMESPACE)
        failed = {"type": "Failed", "status": "True", "reason": "Why", "message": "it is so"}
        api.store.patch(jobs, "by-hand", {"status": {"conditions": [failed]}})

    def act() -> None:
        until(lambda: cluster.api.call(jobs))
        cluster.api.call(end)

    with beside(act):
        code = cluster.run("run", "-f", str(file))

    assert code == ExitCode.FAILED
    assert "PyTorchJob by-hand failed: Why: it is so" in cluster.said


def test_dry_run_prints_the_resource(cluster: Console, file: Path) -> None:
    """Nothing is sent."""
    cluster.env["KUBECONFIG"] = "/nonexistent"

    assert cluster.run("run", "-f", str(file), "--dry-run") == ExitCode.SUCCEEDED
    assert yaml.safe_load(cluster.out) == JOB


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "is not valid YAML: "),
        ("\0", "is not valid YAML: "),
        ("", "is not a job that dlf knows; write one of TFJob (kubeflow.org/v1), "),
        ("- a", "is not a job that dlf knows; write one of "),
        ("kind: Pod\napiVersion: v1", "is not a job that dlf knows; write one of "),
        ("kind: [1]\napiVersion: {}", "is not a job that dlf knows; write one of "),
        ("kind: TFJob\napiVersion: kubeflow.org/v1", "has no metadata.name or no spec; write both"),
        (
            "kind: TFJob\napiVersion: kubeflow.org/v1\nmetadata: {name: 1}\nspec: {}",
            "has metadata that is not valid: Expected `str`, got `int` - at `$.name`",
        ),
        (
            "kind: TFJob\napiVersion: kubeflow.org/v1\nmetadata: {namespace: [b]}\nspec: {}",
            "has metadata that is not valid: Expected `str | null`, got `array`",
        ),
        ("[" * 10_000, "is nested too deeply"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_file_that_is_no_job_is_2(
    cluster: Console, file: Path, content: str | None, message: str
) -> None:
    """One line names the file and what is wrong."""
    file.unlink() if content is None else file.write_text(content)

    assert cluster.run("run", "-f", str(file)) == ExitCode.USAGE
    assert cluster.said[0].startswith(f"-f={str(file)!r} {message}") or cluster.said[0].startswith(
        f"--file={str(file)!r} {message}"
    )


def test_file_without_end_is_2(cluster: Console) -> None:
    """It is not read for ever."""
    assert cluster.run("run", "-f", "/dev/zero") == ExitCode.USAGE
    assert cluster.said == ["--file='/dev/zero' is larger than 16 MiB"]


def test_namespace_is_said_once(cluster: Console, file: Path) -> None:
    """The file's counts; another one on the command line is a mistake."""
    job = JOB | {"metadata": {"name": "by-hand", "namespace": NAMESPACE}}
    file.write_text(yaml.safe_dump(job))

    assert cluster.run("run", "-f", str(file), "-n", "other") == ExitCode.USAGE
    assert "is for namespace 'ml', and --namespace is 'other'" in cluster.said[0]
    assert cluster.run("run", "-f", str(file), "-d") == ExitCode.SUCCEEDED


def test_file_is_needed(cluster: Console) -> None:
    """There is no default."""
    assert cluster.run("run") == ExitCode.USAGE
    assert cluster.said == ["--file is missing; write dlf run --file JOB.yaml"]
