"""PaddleJob of training-operator: roles Worker and, for parameter servers, Master."""

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pod_name
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind
from dlf.manifest.meta import Written

_PORT = 36543  # of the port named master


class PaddleElasticPolicy(Written):
    """kubeflow.org PaddleElasticPolicy; the operator accepts it and does not act on it."""

    min_replicas: int
    max_replicas: int
    max_restarts: int


class PaddleJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 PaddleJobSpec."""

    elastic_policy: PaddleElasticPolicy
    paddle_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """Where the rendezvous of paddle.distributed.launch is.

    It is in Master 0, or in worker 0 of a job that has no Master. On Kubernetes that pod takes its
    own address from POD_IP_DUMMY, because the launcher serves the rendezvous only where
    PADDLE_MASTER is its own IP or 127.0.0.1.
    """
    served_by = "Master" if "Master" in replica.roles else "Worker"
    head = pod_name(replica.job, served_by, 0)
    env = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": replica.job,
        "PADDLE_NNODES": str(sum(replica.roles.values())),
        "PADDLE_MASTER": f"{network.host(head)}:{network.port(head, _PORT)}",
    }
    env["POD_IP"] = network.host(replica.pod)  # which the launcher takes for this machine's
    if replica.pod == head:
        env["POD_IP_DUMMY"] = network.host(head)
    if "Master" in replica.roles:
        env["PADDLE_SERVER_NUM" if replica.role == "Master" else "PADDLE_TRAINER_NUM"] = "1"
    return env


PADDLEJOB = training_operator_kind(
    "PaddleJob",
    "paddlejobs",
    _environment,
    deciding_roles=("Master", "Worker"),
    unranked_roles=("master",),  # parameter servers
)
