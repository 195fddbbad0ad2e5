"""Elastic PyTorch: `--min_worker` and `--max_worker`."""

import pytest
from frameworks.cases import as_json, render

from dlf.errors import UsageError
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB


def test_elastic_job_has_workers_alone_and_a_policy() -> None:
    """The operator tells torchrun the limits and where worker 0 is; no static rendezvous is set."""
    argv = ["--num_worker", "3", "--min_worker", "2", "--max_worker", "4", "--max_retry", "5"]
    job = as_json(render("pytorch", PYTORCHJOB, [*argv, "--command", "torchrun train.py"]))
    spec = job["spec"]
    assert spec["elasticPolicy"] == {
        "minReplicas": 2,
        "maxReplicas": 4,
        "maxRestarts": 5,
        "rdzvBackend": "c10d",
        "rdzvId": job["metadata"]["name"],
    }
    assert {"Worker": 3} == {
        role: each["replicas"] for role, each in spec["pytorchReplicaSpecs"].items()
    }
    worker = spec["pytorchReplicaSpecs"]["Worker"]
    assert "OnFailure" == worker["restartPolicy"]
    container = worker["template"]["spec"]["containers"][0]
    names = {each["name"] for each in container["env"]}
    assert {name for name in names if name.startswith(("PET_", "MASTER", "RANK"))} == {
        "PET_NPROC_PER_NODE"
    }
    assert container["command"][-1] == "torchrun train.py"
    assert "PET_NODE_RANK" not in container["command"][2]


@pytest.mark.parametrize(
    ("argv", "limits"),
    [(["--min_worker", "1"], (1, 3)), (["--max_worker", "8"], (3, 8))],
)
def test_limit_that_is_not_given_is_the_number_of_workers(
    argv: list[str], limits: tuple[int, int]
) -> None:
    """Three by default."""
    policy = as_json(render("pytorch", PYTORCHJOB, argv))["spec"]["elasticPolicy"]
    assert limits == (policy["minReplicas"], policy["maxReplicas"])


@pytest.mark.parametrize("argv", [["--min_worker", "4"], ["--max_worker", "2"]])
def test_number_of_workers_is_between_the_limits(argv: list[str]) -> None:
    """Else the operator would refuse the job, or torchrun never start."""
    with pytest.raises(UsageError, match=r"^--num_worker=3 is not between --min_worker=\d and"):
        render("pytorch", PYTORCHJOB, argv)
