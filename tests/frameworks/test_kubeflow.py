"""The kinds of training-operator."""

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import manifest

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.paddlejob import PADDLEJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.tfjob import TFJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB

KUBEFLOW = [(name, kind) for name, kind in RENDERINGS if kind != VOLCANO_JOB]


@pytest.mark.parametrize(("name", "kind"), KUBEFLOW, ids=rendering_id)
def test_kubeflow_policies_are_where_the_operators_read_them(name: str, kind: JobKind) -> None:
    """Under runPolicy, and the restart policy of a role outside its template."""
    spec = manifest(name, kind)["spec"]
    assert {"backoffLimit", "cleanPodPolicy"}.isdisjoint(spec)
    clean = "Running" if kind.name == "MPIJob" else "None"
    assert clean == spec["runPolicy"]["cleanPodPolicy"]
    assert "schedulingPolicy" not in spec["runPolicy"]
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs"):
            assert ["Never"] * len(replicas) == [r["restartPolicy"] for r in replicas.values()]
            assert all("restartPolicy" not in r["template"]["spec"] for r in replicas.values())
            assert all(r["replicas"] > 0 for r in replicas.values())


@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in KUBEFLOW if pair[1].name != "MPIJob"], ids=rendering_id
)
def test_kubeflow_backoff_limit_allows_the_restarts(name: str, kind: JobKind) -> None:
    """The job fails when the restarts reach the limit, so the limit is one more."""
    still = manifest(name, kind)["spec"]["runPolicy"]["backoffLimit"]
    pods = sum(replicas for _, replicas, _ in pod_templates(manifest(name, kind)))
    spec = manifest(name, kind, ["--max_retry", "2"])["spec"]
    assert (pods, 3) == (still, spec["runPolicy"]["backoffLimit"])
    for key, replicas in spec.items():
        if key.endswith("ReplicaSpecs"):
            assert {"OnFailure"} == {replica["restartPolicy"] for replica in replicas.values()}


@pytest.mark.parametrize(("name", "kind"), KUBEFLOW, ids=rendering_id)
def test_queue_asks_for_a_gang(name: str, kind: JobKind) -> None:
    """All pods at once, in the queue and with the priority that the flags name."""
    argv = ["--queue", "team", "--priority_class", "high"]
    rendered = manifest(name, kind, argv)
    pods = sum(replicas for _, replicas, _ in pod_templates(rendered))
    assert {
        "minAvailable": pods,
        "queue": "team",
        "priorityClass": "high",
    } == rendered["spec"]["runPolicy"]["schedulingPolicy"]


@pytest.mark.parametrize("name", ["pytorch", "mindformers"])
@pytest.mark.parametrize(
    ("workers", "expected"), [("1", {"Master": 1}), ("2", {"Master": 1, "Worker": 1})]
)
def test_pytorchjob_counts_its_master(name: str, workers: str, expected: dict[str, int]) -> None:
    """The master is written as 1, and no role is written with 0."""
    rendered = manifest(name, PYTORCHJOB, ["--num_worker", workers])
    assert expected == {role: count for role, count, _ in pod_templates(rendered)}


def test_tfjob_waits_for_all_workers() -> None:
    """The operator's default is worker 0."""
    assert "AllWorkers" == manifest("tf", TFJOB)["spec"]["successPolicy"]


def test_paddlejob_is_not_elastic() -> None:
    """As many as asked for, never restarted; the port has the name that the operator looks for."""
    rendered = manifest("paddle", PADDLEJOB, ["--num_ps", "2"])
    assert {"minReplicas": 3, "maxReplicas": 3, "maxRestarts": 0} == rendered["spec"][
        "elasticPolicy"
    ]
    assert [("Master", 2), ("Worker", 3)] == [(r, n) for r, n, _ in pod_templates(rendered)]
    for _, _, template in pod_templates(rendered):
        assert [{"name": "master", "containerPort": 36543}] == template["spec"]["containers"][0][
            "ports"
        ]
