"""JAXJob of training-operator 1.9 and later: role Worker, of which worker 0 is the coordinator."""

from dlf.manifest.jobs.kind import LocalNetwork, Replica, pod_name
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, training_operator_kind

_PORT = 6666  # the operator's default of the port named jaxjob-port


class JAXJobSpec(KubeflowJobSpec):
    """kubeflow.org/v1 JAXJobSpec."""

    jax_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """The coordinator and this process, as pkg/controller.v1/jax/envvar.go of the operator."""
    coordinator = pod_name(replica.job, "Worker", 0)
    return {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": str(network.port(coordinator, _PORT)),
        "COORDINATOR_ADDRESS": network.host(coordinator),
        "NUM_PROCESSES": str(sum(replica.roles.values())),
        "PROCESS_ID": str(replica.index),
    }


JAXJOB = training_operator_kind("JAXJob", "jaxjobs", _environment, deciding_roles=("Worker",))
