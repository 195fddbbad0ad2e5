"""What the kubeflow.org kinds share: replicas, run policy, the manifest around a spec."""

from collections.abc import Mapping

from dlf.frameworks._pod import job_metadata
from dlf.manifest.kinds import Kind
from dlf.manifest.kubeflow import KubeflowSpec, ReplicaSpec, RunPolicy, SchedulingPolicy
from dlf.manifest.manifest import Manifest
from dlf.manifest.names import job_name
from dlf.manifest.pods import PodTemplate
from dlf.task.settings import TaskSettings


def name(prefix: str, task: TaskSettings, suffix: str, roles: Mapping[str, int]) -> str:
    """The job's name, short enough for its pods `<job>-<role>-<index>` and their Services."""
    longest = max((f"-{role.lower()}-{max(n - 1, 0)}" for role, n in roles.items()), key=len)
    return job_name(prefix, task.pipeline_name, suffix, longest)


def replica(task: TaskSettings, replicas: int, template: PodTemplate) -> ReplicaSpec:
    """One role. Restarts are in place (OnFailure) when `--max_retry` allows any, else none."""
    policy = "OnFailure" if task.max_retry else "Never"
    return ReplicaSpec(replicas=replicas, restart_policy=policy, template=template)


def run_policy(task: TaskSettings, roles: Mapping[str, int], *, clean: str = "None") -> RunPolicy:
    """Limits and clean-up, where the operators read them.

    The operators fail the job when the restarts of its containers reach backoffLimit, so one more
    than `--max_retry` is written. Without that flag nothing restarts, and the platform's number
    (the size of the job) is kept.
    """
    total = sum(roles.values())
    gang = SchedulingPolicy(
        min_available=total, queue=task.queue, priority_class=task.priority_class
    )
    return RunPolicy(
        clean_pod_policy=clean,
        backoff_limit=task.max_retry + 1 if task.max_retry else total,
        scheduling_policy=gang if task.queue else None,
    )


def manifest(task: TaskSettings, kind: Kind, job: str, spec: KubeflowSpec) -> Manifest:
    """The custom resource."""
    return Manifest(
        api_version=kind.api_version,
        kind=kind.name,
        metadata=job_metadata(task, job),
        spec=spec,
    )


def present(roles: Mapping[str, int]) -> dict[str, int]:
    """The roles that have replicas: training-operator 1.9 rejects an entry with none."""
    return {role: count for role, count in roles.items() if count}
