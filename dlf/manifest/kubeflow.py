"""The specs of the kubeflow.org job kinds (training-operator v1 and mpi-operator v2beta1).

Every count and policy is written out: the operators' defaults differ between versions, and the
admission webhooks of training-operator 1.8 and later see the object before any default is applied.
"""

from dlf.manifest.meta import Written
from dlf.manifest.pods import PodTemplate


class SchedulingPolicy(Written):
    """kubeflow.org SchedulingPolicy: used when the operator was started for gang scheduling."""

    min_available: int
    queue: str = ""
    priority_class: str = ""


class RunPolicy(Written):
    """kubeflow.org RunPolicy: the place where the v1 operators read both limits from."""

    clean_pod_policy: str
    backoff_limit: int
    ttl_seconds_after_finished: int | None = None
    scheduling_policy: SchedulingPolicy | None = None


class ReplicaSpec(Written):
    """kubeflow.org ReplicaSpec: one role. Its restartPolicy wins over the template's."""

    replicas: int
    restart_policy: str
    template: PodTemplate


class PyTorchJobSpec(Written):
    """kubeflow.org/v1 PyTorchJob: roles Master (exactly one) and Worker."""

    run_policy: RunPolicy
    pytorch_replica_specs: dict[str, ReplicaSpec]


class TFJobSpec(Written):
    """kubeflow.org/v1 TFJob: role Worker."""

    run_policy: RunPolicy
    success_policy: str
    tf_replica_specs: dict[str, ReplicaSpec]


class ElasticPolicy(Written):
    """kubeflow.org ElasticPolicy of a PaddleJob; the operator accepts it and does not act on it."""

    min_replicas: int
    max_replicas: int
    max_restarts: int


class PaddleJobSpec(Written):
    """kubeflow.org/v1 PaddleJob: roles Worker and, for parameter servers, Master."""

    run_policy: RunPolicy
    elastic_policy: ElasticPolicy
    paddle_replica_specs: dict[str, ReplicaSpec]


class MXJobSpec(Written):
    """kubeflow.org/v1 MXJob: roles Scheduler, Server and Worker."""

    run_policy: RunPolicy
    job_mode: str
    mx_replica_specs: dict[str, ReplicaSpec]


class MPIJobSpec(Written):
    """kubeflow.org MPIJob, v1 (kubectl exec) and v2beta1 (ssh): roles Launcher and Worker."""

    run_policy: RunPolicy
    slots_per_worker: int
    mpi_replica_specs: dict[str, ReplicaSpec]


KubeflowSpec = PyTorchJobSpec | TFJobSpec | PaddleJobSpec | MXJobSpec | MPIJobSpec


def replica_specs(spec: KubeflowSpec) -> dict[str, ReplicaSpec]:
    """The roles of a job, in the order in which they were rendered."""
    match spec:
        case PyTorchJobSpec():
            return spec.pytorch_replica_specs
        case TFJobSpec():
            return spec.tf_replica_specs
        case PaddleJobSpec():
            return spec.paddle_replica_specs
        case MXJobSpec():
            return spec.mx_replica_specs
        case MPIJobSpec():
            return spec.mpi_replica_specs
