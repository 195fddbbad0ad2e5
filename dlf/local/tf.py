"""TFJob: TF_CONFIG, as training-operator injects it into the container `tensorflow`."""

import json

from dlf.local.network import HOST, Network
from dlf.local.process import Replica, pods_of

_PORT = 2222  # the operator's default of the port named tfjob-port


def environment(replica: Replica, network: Network) -> dict[str, str]:
    """The addresses of all replicas and this one's place; nothing for a job of one replica."""
    if sum(replica.roles.values()) == 1:
        return {}
    cluster = {
        role.lower(): [
            f"{HOST}:{network.port(pod, _PORT)}" for pod in pods_of(replica.job, role, count)
        ]
        for role, count in replica.roles.items()
    }
    task = {"type": replica.role.lower(), "index": replica.index}
    config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(config)}
