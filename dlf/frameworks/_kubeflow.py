"""What the kubeflow.org kinds share: replicas, run policy, the manifest around a spec."""

from collections.abc import Mapping

from dlf.frameworks._pod import job_metadata
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec, ReplicaSpec, RunPolicy, SchedulingPolicy
from dlf.manifest.manifest import Manifest
from dlf.manifest.names import job_name
from dlf.manifest.pods import PodTemplate
from dlf.task.settings import TaskSettings


def name(prefix: str, settings: TaskSettings, suffix: str, roles: Mapping[str, int]) -> str:
    """The job's name, short enough for its pods `<job>-<role>-<index>` and their Services."""
    longest = max((f"-{role.lower()}-{max(n - 1, 0)}" for role, n in roles.items()), key=len)
    return job_name(prefix, settings.pipeline_name, suffix, longest)


def replica(settings: TaskSettings, replicas: int, template: PodTemplate) -> ReplicaSpec:
    """One role. Restarts are in place (OnFailure) when `--max_retry` allows any, else none."""
    policy = "OnFailure" if settings.max_retry else "Never"
    return ReplicaSpec(replicas=replicas, restart_policy=policy, template=template)


def run_policy(
    settings: TaskSettings, roles: Mapping[str, int], *, clean: str = "None"
) -> RunPolicy:
    """Limits and clean-up, where the operators read them.

    The operators fail the job when the restarts of its containers reach backoffLimit, so one more
    than `--max_retry` is written. Without that flag nothing restarts, and the platform's number
    (the size of the job) is kept.
    """
    total = sum(roles.values())
    gang = SchedulingPolicy(
        min_available=total, queue=settings.queue, priority_class=settings.priority_class
    )
    return RunPolicy(
        clean_pod_policy=settings.clean_pod_policy or clean,
        ttl_seconds_after_finished=int(settings.ttl) or None,
        backoff_limit=settings.max_retry + 1 if settings.max_retry else total,
        scheduling_policy=gang if settings.queue else None,
    )


def manifest(settings: TaskSettings, kind: JobKind, job: str, spec: KubeflowJobSpec) -> Manifest:
    """The custom resource around a spec."""
    return Manifest(
        api_version=kind.api_version,
        kind=kind.name,
        metadata=job_metadata(settings, job),
        spec=spec,
    )


def with_replicas(roles: Mapping[str, int]) -> dict[str, int]:
    """The roles that have replicas: training-operator 1.9 rejects an entry with none."""
    return {role: count for role, count in roles.items() if count}
