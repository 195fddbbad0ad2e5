"""PaddleJob: the variables of paddle.distributed.launch that training-operator injects."""

from dlf.local.network import HOST, Network
from dlf.local.process import Replica, pod_name

_PORT = 36543  # of the port named master


def environment(replica: Replica, network: Network) -> dict[str, str]:
    """Where the rendezvous is; no rank, which the launcher gets from there.

    The rendezvous is in Master 0, or in worker 0 of a job that has no Master. On Kubernetes that
    pod takes its own address from POD_IP_DUMMY, because the launcher serves the rendezvous only
    where PADDLE_MASTER is its own IP or 127.0.0.1. Here all pods have that address: the first to
    listen serves, and for the others the port is taken.
    """
    served_by = "Master" if "Master" in replica.roles else "Worker"
    head = pod_name(replica.job, served_by, 0)
    env = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": replica.job,
        "PADDLE_NNODES": str(sum(replica.roles.values())),
        "PADDLE_MASTER": f"{HOST}:{network.port(head, _PORT)}",
    }
    if replica.pod == head:
        env["POD_IP_DUMMY"] = HOST
    if "Master" in replica.roles:
        env["PADDLE_SERVER_NUM" if replica.role == "Master" else "PADDLE_TRAINER_NUM"] = "1"
    return env
