"""PyTorchJob of training-operator: roles Master (exactly one, rank 0) and Worker."""

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pod_name
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind

_PORT = 23456  # the operator's default of the port named pytorchjob-port


class PyTorchJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 PyTorchJobSpec."""

    pytorch_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """The rendezvous with the Master, which is rank 0; worker i is rank i + 1 (operator 1.9).

    PET_NPROC_PER_NODE keeps the container's value: the operator's `auto` means one process per
    accelerator on a node with accelerators, and one per core on a machine without.
    """
    size = str(sum(replica.roles.values()))
    env = {"PYTHONUNBUFFERED": "1", "PET_NNODES": size}
    if "Master" in replica.roles:
        master = pod_name(replica.job, "Master", 0)
        host, port = network.host(master), str(network.port(master, _PORT))
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
    return env


PYTORCHJOB = training_operator_kind(
    "PyTorchJob", "pytorchjobs", _environment, deciding_roles=("Master", "Worker")
)
