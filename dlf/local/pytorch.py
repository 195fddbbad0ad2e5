"""PyTorchJob: the environment that training-operator 1.9 injects into every container."""

from dlf.local.network import HOST, Network
from dlf.local.process import Replica, pod_name

_PORT = 23456  # the operator's default of the port named pytorchjob-port


def environment(replica: Replica, network: Network) -> dict[str, str]:
    """The rendezvous with the Master, which is rank 0; worker i is rank i + 1.

    PET_NPROC_PER_NODE keeps the container's value: the operator's `auto` means one process per
    accelerator on a node with accelerators, and one per core on a machine without.
    """
    size = str(sum(replica.roles.values()))
    env = {"PYTHONUNBUFFERED": "1", "PET_NNODES": size}
    if "Master" in replica.roles:
        port = str(network.port(pod_name(replica.job, "Master", 0), _PORT))
        rank = str(replica.rank)
        env |= {
            "MASTER_ADDR": HOST,
            "MASTER_PORT": port,
            "WORLD_SIZE": size,
            "RANK": rank,
            "PET_MASTER_ADDR": HOST,
            "PET_MASTER_PORT": port,
            "PET_NODE_RANK": rank,
        }
    return env
