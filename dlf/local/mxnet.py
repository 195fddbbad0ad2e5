"""MXJob: the variables of ps-lite, as training-operator up to 1.8 injects them."""

import json

from dlf.local.network import HOST, Network
from dlf.local.process import Replica, pod_name, pods_of

_PORT = 9091  # the operator's default of the port named mxjob-port


def environment(replica: Replica, network: Network) -> dict[str, str]:
    """The scheduler's address and this pod's role, as DMLC_* and once more as MX_CONFIG."""
    role = replica.role.lower()
    cluster = {
        other.lower(): [
            {"url": HOST, "port": network.port(pod, _PORT)}
            for pod in pods_of(replica.job, other, count)
        ]
        for other, count in replica.roles.items()
    }
    labels = dict.fromkeys(cluster, "")  # tuning only
    config = {"cluster": cluster, "labels": labels, "task": {"type": role, "index": replica.index}}
    env = {
        "MX_CONFIG": json.dumps(config),
        "DMLC_PS_ROOT_URI": HOST,
        "DMLC_PS_ROOT_PORT": str(network.port(pod_name(replica.job, "Scheduler", 0), _PORT)),
        "DMLC_NUM_SERVER": str(replica.roles.get("Server", 0)),
        "DMLC_NUM_WORKER": str(replica.roles.get("Worker", 0)),
        "DMLC_ROLE": role,
        "DMLC_USE_KUBERNETES": "1",
    }
    return env | ({"DMLC_WORKER_ID": str(replica.index)} if role == "worker" else {})
