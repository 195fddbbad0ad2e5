"""TFJob of training-operator: roles Chief, PS, Worker and Evaluator."""

import json

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pods_of
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind

_PORT = 2222  # the operator's default of the port named tfjob-port


class TFJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 TFJobSpec."""

    success_policy: str
    tf_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """TF_CONFIG: the addresses of all replicas and this one's place; none for a single replica."""
    if sum(replica.roles.values()) == 1:
        return {}
    cluster = {
        role.lower(): [
            f"{network.host(pod)}:{network.port(pod, _PORT)}"
            for pod in pods_of(replica.job, role, count)
        ]
        for role, count in replica.roles.items()
    }
    task = {"type": replica.role.lower(), "index": replica.index}
    config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(config)}


# dlf writes successPolicy AllWorkers: without a Chief, all workers have to succeed.
TFJOB = training_operator_kind(
    "TFJob",
    "tfjobs",
    _environment,
    deciding_roles=("Chief", "Worker"),
    unranked_roles=("ps", "evaluator"),
)
