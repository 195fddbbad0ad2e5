"""MXJob of training-operator up to 1.8: roles Scheduler, Server and Worker of ps-lite."""

import json

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pod_name, pods_of
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind

_PORT = 9091  # the operator's default of the port named mxjob-port


class MXJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 MXJobSpec."""

    job_mode: str
    mx_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """The scheduler's address and this pod's role, as DMLC_* and once more as MX_CONFIG."""
    role = replica.role.lower()
    cluster = {
        other.lower(): [
            {"url": network.host(pod), "port": network.port(pod, _PORT)}
            for pod in pods_of(replica.job, other, count)
        ]
        for other, count in replica.roles.items()
    }
    labels = dict.fromkeys(cluster, "")  # tuning only
    config = {"cluster": cluster, "labels": labels, "task": {"type": role, "index": replica.index}}
    scheduler = pod_name(replica.job, "Scheduler", 0)
    env = {
        "MX_CONFIG": json.dumps(config),
        "DMLC_PS_ROOT_URI": network.host(scheduler),
        "DMLC_PS_ROOT_PORT": str(network.port(scheduler, _PORT)),
        "DMLC_NUM_SERVER": str(replica.roles.get("Server", 0)),
        "DMLC_NUM_WORKER": str(replica.roles.get("Worker", 0)),
        "DMLC_ROLE": role,
        "DMLC_USE_KUBERNETES": "1",
    }
    return env | ({"DMLC_WORKER_ID": str(replica.index)} if role == "worker" else {})


MXJOB = training_operator_kind(
    "MXJob",
    "mxjobs",
    _environment,
    deciding_roles=("Scheduler",),
    unranked_roles=("scheduler", "server"),
)
