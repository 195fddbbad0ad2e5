"""`dlf check`: what stands in the way of a task, and what to do about it."""

from collections.abc import Callable
from typing import Any

import pytest
from commands.console import Console

from dlf.errors import ExitCode

FREE = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}
LABELS = {"cpu": "true", "gpu": "true", "train": "true"}


def ready(cluster: Console) -> None:
    """A cluster with all that a task with two cards a pod needs."""
    cluster.create("namespaces", "ml", namespace="")
    cluster.create("secrets", "hubsecret")
    node(cluster, "node-1")


def node(cluster: Console, name: str, **fields: Any) -> None:
    """A node that is free for training."""
    given: dict[str, Any] = {"labels": LABELS, "status": {"allocatable": FREE}}
    cluster.create("nodes", name, namespace="", **(given | fields))


def lines(cluster: Console) -> dict[str, list[str]]:
    """Result and found of each line of the table, by check."""
    rows: dict[str, list[str]] = {}
    for line in cluster.out.splitlines()[1:]:
        if not line.startswith("  ->"):
            check, result, found = (part.strip() for part in line.split("  ", 1)[0:1] + _rest(line))
            rows[check] = [result, found]
    return rows


def _rest(line: str) -> list[str]:
    result, _, found = line.split("  ", 1)[1].strip().partition(" ")
    return [result, found.strip()]


def test_cluster_that_would_run_the_task_is_0(cluster: Console) -> None:
    """Every line is ok, and nothing was created."""
    ready(cluster)
    cluster.env["KFJ_TASK_RESOURCE_GPU"] = "2"

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.SUCCEEDED
    assert {check: result for check, (result, _) in lines(cluster).items()} == {
        "API": "ok",
        "names": "ok",
        "permissions": "ok",
        "namespace": "ok",
        "nodes": "ok",
        "Secret": "ok",
        "dry run": "ok",
    }
    created = [r for r in cluster.api.call(lambda api: api.requests) if r.method == "POST"]
    assert {"selfsubjectaccessreviews", "pytorchjobs"} == {
        r.path.rpartition("/")[2] for r in created
    }
    assert all(r.query.get("dryRun") == "All" for r in created if "pytorchjobs" in r.path)


def missing_namespace(cluster: Console) -> None:
    cluster.api.call(lambda api: api.store.remove(api.collection("namespaces", ""), "ml"))


def cordoned(cluster: Console) -> None:
    _patch_node(cluster, {"spec": {"unschedulable": True}})


def tainted(cluster: Console) -> None:
    taint = {"key": "maintenance", "effect": "NoSchedule"}
    _patch_node(cluster, {"spec": {"taints": [taint]}})


def unlabelled(cluster: Console) -> None:
    _patch_node(cluster, {"metadata": {"labels": {"train": None}}})


def too_small(cluster: Console) -> None:
    _patch_node(cluster, {"status": {"allocatable": {"nvidia.com/gpu": "1"}}})


def too_few(cluster: Console) -> None:
    _patch_node(cluster, {"status": {"allocatable": {"nvidia.com/gpu": "4"}}})


def _patch_node(cluster: Console, change: dict[str, Any]) -> None:
    cluster.api.call(lambda api: api.store.patch(api.collection("nodes", ""), "node-1", change))


def not_served(cluster: Console) -> None:
    def drop(api: Any) -> None:
        del api.resources["kubeflow.org", "v1"]["pytorchjobs"]

    cluster.api.call(drop)


def may_not_create(cluster: Console) -> None:
    cluster.api.call(lambda api: api.denied.add(("create", "pytorchjobs.kubeflow.org")))


def no_claim(cluster: Console) -> None:
    cluster.env["KFJ_TASK_VOLUME_MOUNT"] = "data(pvc):/data"


def no_config(cluster: Console) -> None:
    cluster.env["KFJ_TASK_VOLUME_MOUNT"] = "conf(configmap):/conf"


@pytest.mark.parametrize(
    ("breaks", "check", "found", "remedy"),
    [
        pytest.param(
            not_served, "API", "the cluster does not serve PyTorchJob", "install the operator"
        ),
        pytest.param(
            may_not_create,
            "permissions",
            "may not create pytorchjobs.kubeflow.org",
            "add it to the Role",
        ),
        pytest.param(missing_namespace, "namespace", "ml does not exist", "create it"),
        pytest.param(
            no_claim, "PersistentVolumeClaim", "data does not exist", "create it, or do not mount"
        ),
        pytest.param(no_config, "ConfigMap", "conf does not exist", "create it, or do not mount"),
        pytest.param(
            cordoned, "nodes", "none of 1 nodes takes a master: 1 cordoned", "ask for less"
        ),
        pytest.param(
            tainted, "nodes", "none of 1 nodes takes a master: 1 tainted maintenance", "ask for"
        ),
        pytest.param(
            unlabelled, "nodes", "none of 1 nodes takes a master: 1 without train=true", "ask for"
        ),
        pytest.param(
            too_small,
            "nodes",
            "each wants 2 of nvidia.com/gpu, no node has more than 1",
            "ask for less",
        ),
        pytest.param(
            too_few, "nodes", "all pods together want more nvidia.com/gpu", "ask for less"
        ),
    ],
)
def test_obstacle_is_3_and_comes_with_a_remedy(
    cluster: Console, breaks: Callable[[Console], None], check: str, found: str, remedy: str
) -> None:
    """One line says what is wrong, the next what to do."""
    ready(cluster)
    cluster.env["KFJ_TASK_RESOURCE_GPU"] = "2"
    breaks(cluster)

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.REJECTED
    result, told = lines(cluster)[check]
    assert result == "FAILED"
    assert found in told
    shown = cluster.out.splitlines()
    at = next(index for index, line in enumerate(shown) if found in line)
    assert remedy in shown[at + 1]


@pytest.mark.parametrize(
    ("toleration", "result"),
    [
        pytest.param("maintenance", "ok", id="any value"),
        pytest.param("maintenance=:NoSchedule", "ok", id="this value and effect"),
        pytest.param("maintenance=:NoExecute", "FAILED", id="another effect"),
        pytest.param("maintenance=today", "FAILED", id="another value"),
        pytest.param("gpu", "FAILED", id="another key"),
    ],
)
def test_tolerated_taint_keeps_no_pod_off(cluster: Console, toleration: str, result: str) -> None:
    """The scheduler puts the pods there, so the node counts."""
    ready(cluster)
    tainted(cluster)
    cluster.run("check", "pytorch", "--image", "i", "--toleration", toleration)
    assert result == lines(cluster)["nodes"][0]


@pytest.mark.parametrize(
    ("queue", "found"),
    [
        pytest.param("Closed", "default is Closed", id="closed"),
        pytest.param(None, "default does not exist", id="absent"),
    ],
)
def test_queue_that_takes_no_jobs_is_3(cluster: Console, queue: str | None, found: str) -> None:
    """Volcano Jobs always have a queue."""
    ready(cluster)
    if queue:
        cluster.create("queues", "default", namespace="", status={"state": queue})

    assert cluster.run("check", "mindspore", "--image", "i") == ExitCode.REJECTED
    assert lines(cluster)["queue"] == ["FAILED", found]


def test_field_that_the_api_server_would_drop_is_3(cluster: Console) -> None:
    """Old API servers do not refuse unknown fields: what came back is compared."""
    ready(cluster)
    answer = b'{"metadata": {"name": "x"}, "spec": {"pytorchReplicaSpecs": {}}}'
    cluster.api.call(
        lambda api: api.fail(verb="create", path="pytorchjobs", status=201, body=answer)
    )

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.REJECTED
    result, found = lines(cluster)["dry run"]
    assert result == "FAILED"
    assert found.startswith("the API server drops apiVersion, kind, ")
    assert "spec.runPolicy" in found or "spec.pytorchReplicaSpecs.Master" in found


def test_what_may_not_be_looked_at_is_left_open(cluster: Console) -> None:
    """`dlf check` needs no more permissions than running the job, but it says less then."""
    ready(cluster)
    forbidden = {("get", "namespaces"), ("list", "nodes"), ("get", "secrets")}
    cluster.api.call(lambda api: api.denied.update(forbidden))

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.SUCCEEDED
    found = lines(cluster)
    assert [found[check][0] for check in ("namespace", "nodes", "Secret")] == ["unknown"] * 3


def test_permission_that_only_explains_is_a_note(cluster: Console) -> None:
    """Jobs run without it."""
    ready(cluster)
    cluster.api.call(lambda api: api.denied.add(("list", "events")))

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.SUCCEEDED
    assert lines(cluster)["permissions"][0] == "note"


def test_pull_secret_that_is_missing_is_a_note(cluster: Console) -> None:
    """The kubelet pulls without it."""
    cluster.create("namespaces", "ml", namespace="")
    node(cluster, "node-1")

    assert cluster.run("check", "pytorch", "--image", "i") == ExitCode.SUCCEEDED
    assert lines(cluster)["Secret"][0] == "note"


def test_unknown_framework_is_2(cluster: Console) -> None:
    """With the nearest one as a hint."""
    assert cluster.run("check", "pytroch") == ExitCode.USAGE
    assert "did you mean pytorch?" in cluster.said[0]


@pytest.mark.parametrize(
    ("flags", "result"),
    [([], "FAILED"), (["--role", "ps:gpu=0"], "ok"), (["--role", "worker:gpu=9"], "FAILED")],
)
def test_gpus_of_a_role_are_looked_for(cluster: Console, flags: list[str], result: str) -> None:
    """Two servers and a worker, and GPUs for the worker alone."""
    ready(cluster)
    too_few(cluster)
    words = ["check", "tf", "--image", "i", "--num_worker", "1", "--num_ps", "2", "--gpu", "3"]
    cluster.run(*words, *flags)
    assert result == lines(cluster)["nodes"][0]
