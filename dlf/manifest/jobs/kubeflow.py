"""What the kubeflow.org job kinds share (training-operator v1 and mpi-operator v2beta1).

Every count and policy is written out: the operators' defaults differ between versions, and the
admission webhooks of training-operator 1.8 and later see the object before any default is applied.
"""

from typing import TYPE_CHECKING

from dlf.manifest.jobs.kind import Environment, JobKind
from dlf.manifest.meta import Written
from dlf.manifest.phase import JobState, Phase
from dlf.manifest.pods import PodTemplate

if TYPE_CHECKING:
    from dlf.manifest.observed import JobStatus

JOB_LABEL = "training.kubeflow.org/job-name"
INDEX_LABEL = "training.kubeflow.org/replica-index"
REPLICA_INDEX_FIELD = f"metadata.labels['{INDEX_LABEL}']"
"""Path of the pod's number in its role, for a variable from a field."""


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


class KubeflowJobSpec(Written):
    """The spec of a kubeflow.org job; each kind adds one field called `<kind>_replica_specs`."""

    run_policy: RunPolicy

    @property
    def replica_specs(self) -> dict[str, ReplicaSpec]:
        """The roles of the job, in the order in which they were rendered."""
        field = next(name for name in self.__struct_fields__ if name.endswith("_replica_specs"))
        specs: dict[str, ReplicaSpec] = getattr(self, field)
        return specs


def training_operator_kind(
    name: str,
    plural: str,
    environment: Environment,
    deciding_roles: tuple[str, ...],
    unranked_roles: tuple[str, ...] = (),
) -> JobKind:
    """The record of a kind of training-operator; see `JobKind`."""
    return JobKind(
        group="kubeflow.org",
        version="v1",
        name=name,
        plural=plural,
        job_label=JOB_LABEL,
        role_label="training.kubeflow.org/replica-type",
        index_label=INDEX_LABEL,
        deciding_roles=deciding_roles,
        unranked_roles=unranked_roles,
        state=state,
        environment=environment,
    )


# The first of these whose condition holds is the phase. Failed wins over Succeeded: a TFJob whose
# worker fails after its chief succeeded has both.
_CONDITIONS = {
    "Failed": Phase.FAILED,
    "Succeeded": Phase.SUCCEEDED,
    "Suspended": Phase.QUEUED,
    "Restarting": Phase.RESTARTING,
    "Running": Phase.RUNNING,
    "Created": Phase.QUEUED,
}


def state(status: "JobStatus") -> JobState:
    """What the conditions say: only those with status "True" hold, in any order."""
    holding = {each.type: each for each in status.conditions or () if each.status == "True"}
    unknown = tuple(name for name in holding if name not in _CONDITIONS)
    for name, phase in _CONDITIONS.items():
        if condition := holding.get(name):
            return JobState(phase, condition.reason or "", condition.message or "", unknown)
    return JobState(Phase.SUBMITTED, unknown=unknown)
