"""PyTorchJob of training-operator: roles Master (exactly one, rank 0) and Worker."""

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pod_name
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind
from dlf.manifest.meta import Written

PORT = 23456  # the operator's default of the port named pytorchjob-port


class ElasticPolicy(Written):
    """kubeflow.org ElasticPolicy: the operator makes torchrun's PET_RDZV_* of it."""

    min_replicas: int
    max_replicas: int
    max_restarts: int
    rdzv_backend: str
    rdzv_id: str


class PyTorchJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 PyTorchJobSpec. With an elastic policy it has Workers alone."""

    pytorch_replica_specs: dict[str, ReplicaSpec]
    elastic_policy: ElasticPolicy | None = None


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """The rendezvous with the Master, which is rank 0; worker i is rank i + 1 (operator 1.9).

    PET_NPROC_PER_NODE keeps the container's value: the operator's `auto` means one process per
    accelerator on a node with accelerators, and one per core on a machine without.
    """
    size = str(sum(replica.roles.values()))
    env = {"PYTHONUNBUFFERED": "1", "PET_NNODES": size}
    if "Master" in replica.roles:
        master = pod_name(replica.job, "Master", 0)
        host, port = network.host(master), str(network.port(master, PORT))
        rank = str(replica.rank)
        env |= {
            "MASTER_ADDR": host,
            "MASTER_PORT": port,
            "WORLD_SIZE": size,
            "RANK": rank,
            "PET_MASTER_ADDR": host,
            "PET_MASTER_PORT": port,
            "PET_NODE_RANK": rank,
        }
    else:  # an elastic job
        first = pod_name(replica.job, "Worker", 0)
        endpoint = f"{network.host(first)}:{network.port(first, PORT)}"
        env |= {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": endpoint}
    return env


PYTORCHJOB = training_operator_kind(
    "PyTorchJob", "pytorchjobs", _environment, deciding_roles=("Master", "Worker")
)
