"""What dlf reads from the API server: only the fields it uses, everything optional.

Unknown fields are ignored and `null` is taken for absent, since operators write both. The file is
long because it is a list: one struct for each Kubernetes type that is read.
"""

from collections.abc import Mapping
from typing import dataclass_transform

import msgspec
from msgspec import field


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Observed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an object as the API server returned it."""


class Owner(Observed):
    """metav1.OwnerReference."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class Meta(Observed):
    """metav1.ObjectMeta. Times are RFC 3339 text in UTC."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Owner] | None = None


class Condition(Observed):
    """A condition of a job, pod or PodGroup; it holds only when `status` is "True"."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class Waiting(Observed):
    """corev1.ContainerStateWaiting."""

    reason: str | None = None
    message: str | None = None


class Running(Observed):
    """corev1.ContainerStateRunning."""

    started_at: str | None = None


class Terminated(Observed):
    """corev1.ContainerStateTerminated."""

    exit_code: int = 0
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str | None = field(default=None, name="containerID")


class ContainerState(Observed):
    """corev1.ContainerState: at most one is set; none means waiting."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Observed):
    """corev1.ContainerStatus. `container_id` is "" until the container was created."""

    name: str
    image: str = ""
    container_id: str | None = field(default=None, name="containerID")
    restart_count: int = 0
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodContainer(Observed):
    """corev1.Container. An init container with restart policy `Always` is a native sidecar."""

    name: str
    restart_policy: str | None = None
    command: list[str] | None = None


class PodSpec(Observed):
    """corev1.PodSpec."""

    node_name: str | None = None
    containers: list[PodContainer] | None = None
    init_containers: list[PodContainer] | None = None


class PodStatus(Observed):
    """corev1.PodStatus."""

    phase: str = "Pending"
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(Observed):
    """corev1.Pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplate(Observed):
    """corev1.PodTemplateSpec: the pods that the operator creates for a role."""

    spec: PodSpec = PodSpec()


class ReplicaCount(Observed):
    """One role of a Kubeflow job; the operator's default is one replica."""

    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class TaskCount(Observed):
    """One task of a Volcano Job."""

    name: str = ""
    replicas: int = 0
    template: PodTemplate = PodTemplate()


class RunPolicy(Observed):
    """kubeflow.org RunPolicy: which pods the operator deletes when the job has ended; retries."""

    clean_pod_policy: str | None = None
    backoff_limit: int | None = None


class VolcanoState(Observed):
    """batch.volcano.sh JobState."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None


class JobStatus(Observed):
    """Kubeflow's common JobStatus, and the state of a Volcano Job."""

    conditions: list[Condition] | None = None
    completion_time: str | None = None
    state: VolcanoState | None = None
    retry_count: int = 0


class Job(Observed):
    """A job of any kind. `spec` maps its fields to their JSON, since each kind has others."""

    metadata: Meta
    api_version: str = ""
    kind: str = ""
    spec: dict[str, msgspec.Raw] = {}
    status: JobStatus | None = None

    @property
    def replicas(self) -> dict[str, int]:
        """Role to number of pods, roles in lower case and in the order of ranks.

        The API server sorts the keys of a Kubeflow job, which is the order of its ranks too; the
        tasks of a Volcano Job keep theirs.
        """
        return {
            role: 1 if entry.replicas is None else entry.replicas
            for role, entry in self._roles().items()
        }

    @property
    def containers(self) -> dict[str, frozenset[str]]:
        """Role to the names of the containers that its pods are created with.

        Whatever else runs in a pod was injected: a service mesh's proxy, a log shipper.
        """
        return {
            role: frozenset(each.name for each in entry.template.spec.containers or ())
            for role, entry in self._roles().items()
        }

    def _roles(self) -> Mapping[str, ReplicaCount | TaskCount]:
        if "tasks" in self.spec:
            tasks = msgspec.json.decode(self.spec["tasks"], type=list[TaskCount] | None)
            return {task.name: task for task in tasks or ()}
        for key, value in self.spec.items():
            if key.endswith("ReplicaSpecs"):
                roles = msgspec.json.decode(value, type=dict[str, ReplicaCount] | None) or {}
                return {role.lower(): entry for role, entry in sorted(roles.items())}
        return {}

    @property
    def clean_pod_policy(self) -> str | None:
        """Which pods of a Kubeflow job the operator deletes when it has ended, if it is set."""
        return self._run_policy().clean_pod_policy

    @property
    def backoff_limit(self) -> int | None:
        """How many failures of a Kubeflow job's pods are retried, if it is set."""
        return self._run_policy().backoff_limit

    def _run_policy(self) -> RunPolicy:
        value = self.spec.get("runPolicy", msgspec.Raw(b"null"))
        return msgspec.json.decode(value, type=RunPolicy | None) or RunPolicy()


class ObjectReference(Observed):
    """corev1.ObjectReference."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Observed):
    """corev1.EventSeries."""

    count: int = 0
    last_observed_time: str | None = None


class Event(Observed):
    """corev1.Event."""

    metadata: Meta = Meta()
    involved_object: ObjectReference = ObjectReference()
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    count: int | None = None
    series: EventSeries | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class Status(Observed):
    """metav1.Status: the body of a refused request and of a watch's ERROR event."""

    kind: str = ""
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    code: int = 0


class ListMeta(Observed):
    """metav1.ListMeta. `continue_` is the token of the next page."""

    resource_version: str = ""
    continue_: str | None = field(default=None, name="continue")


class WatchEvent(Observed):
    """metav1.WatchEvent; the object is decoded by whoever knows its type."""

    type: str
    object: msgspec.Raw
