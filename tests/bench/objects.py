"""The job whose logs the benchmarks follow, and its pods, as an API server holds them."""

NAMESPACE = "bench"
LABELS = {"training.kubeflow.org/job-name": "bench", "training.kubeflow.org/replica-type": "worker"}
CONTAINER = "pytorch"


def job(pods: int, image: str = "bench") -> dict[str, object]:
    """The job, without its status."""
    template = {"spec": {"containers": [{"name": CONTAINER, "image": image}]}}
    return {
        "kind": "PyTorchJob",
        "apiVersion": "kubeflow.org/v1",
        "metadata": {"name": "bench"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": pods, "template": template}}},
    }


def job_status() -> dict[str, object]:
    """The status of a job that runs."""
    return {"status": {"conditions": [{"type": "Running", "status": "True"}]}}


def pod(number: int, spec: dict[str, object]) -> dict[str, object]:
    """A pod of the job, without its status."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"bench-worker-{number}",
            "labels": LABELS | {"training.kubeflow.org/replica-index": str(number)},
        },
        "spec": spec,
    }


def pod_status(number: int, started: str) -> dict[str, object]:
    """The status of a pod whose only container runs since `started` (RFC 3339)."""
    return {
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {
                    "name": CONTAINER,
                    "containerID": f"containerd://{number:064x}",
                    "ready": True,
                    "state": {"running": {"startedAt": started}},
                    "image": "bench",
                    "imageID": "",
                    "restartCount": 0,
                }
            ],
        }
    }
