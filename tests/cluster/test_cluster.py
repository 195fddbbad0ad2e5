"""The cluster itself is what dlf's tests take it for."""

from typing import Any

import kubernetes
import pytest

from .image import WORKER_IMAGE
from .sandbox import wait_until
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120, func_only=True)]

_RANKS = """
echo rank $RANK of $WORLD_SIZE
python3 -c '
import os, socket
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    with socket.create_server(("", address[1])) as server:
        for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
            server.accept()[0].close()
    print("everybody came")
else:
    with socket.create_connection(address, timeout=60):
        print("met the master")
'
"""


def _pytorchjob(workers: int) -> dict[str, Any]:
    def replicas(count: int) -> dict[str, Any]:
        container = {
            "name": "pytorch",
            "image": WORKER_IMAGE,
            "command": ["bash", "-c", _RANKS],
            "resources": {"requests": {"cpu": "10m"}},
        }
        template = {"spec": {"containers": [container]}}
        return {"replicas": count, "restartPolicy": "Never", "template": template}

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "meeting"},
        "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(workers)}},
    }


def test_pytorchjob_runs_to_succeeded_in_real_pods(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """Operator, scheduler, kubelet, container runtime, pod network and DNS work together."""
    jobs = kubernetes.client.CustomObjectsApi(client)
    pods = kubernetes.client.CoreV1Api(client)
    where = ("kubeflow.org", "v1", workspace.namespace, "pytorchjobs")

    jobs.create_namespaced_custom_object(*where, _pytorchjob(workers=2))

    def ended_as() -> str | None:
        job: dict[str, Any] = jobs.get_namespaced_custom_object(*where, "meeting")  # type: ignore[assignment]
        conditions = job.get("status", {}).get("conditions", [])
        met = {each["type"] for each in conditions if each["status"] == "True"}
        return next(iter(met & {"Succeeded", "Failed"}), None)

    wait_until(lambda: ended_as() is not None, "end of the job", seconds=90)
    expected = {
        "meeting-master-0": "rank 0 of 3\neverybody came\n",
        "meeting-worker-0": "rank 1 of 3\nmet the master\n",
        "meeting-worker-1": "rank 2 of 3\nmet the master\n",
    }
    logs = {
        name: pods.read_namespaced_pod_log(name, workspace.namespace, container="pytorch")
        for name in expected
    }
    assert (ended_as(), logs) == ("Succeeded", expected)


def test_launcher_may_not_touch_other_namespaces(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """RBAC is real: the ServiceAccount's Role ends at its namespace and names no secrets."""
    core = kubernetes.client.CoreV1Api(client)
    with pytest.raises(kubernetes.client.ApiException) as elsewhere:
        core.list_namespaced_pod("kubeflow")
    with pytest.raises(kubernetes.client.ApiException) as secrets:
        core.list_namespaced_secret(workspace.namespace)
    assert (elsewhere.value.status, secrets.value.status) == (403, 403)
