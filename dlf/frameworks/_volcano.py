"""What Volcano Jobs share: gangs, the plugins that let pods find each other, fail-fast."""

from collections.abc import Mapping, Sequence

from dlf.errors import UsageError
from dlf.frameworks._pod import job_metadata
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import LifecyclePolicy, TaskSpec, VolcanoJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.names import job_name
from dlf.manifest.pods import PodTemplate
from dlf.task.settings import TaskSettings

# Peers are looked up before they are ready, so their names must resolve before that too.
_PLUGINS: Mapping[str, list[str]] = {
    "env": [],
    "svc": ["--publish-not-ready-addresses=true"],
    "ssh": [],
}

# With maxRetry 1 the first failure ends the job as Failed: the peers are stopped, and the failed
# pod is kept with its log. Each further attempt starts all pods anew.
_POLICIES = [
    LifecyclePolicy(event="PodFailed", action="RestartJob"),
    LifecyclePolicy(event="PodEvicted", action="RestartJob"),
]


def name(prefix: str, settings: TaskSettings, suffix: str, roles: Mapping[str, int]) -> str:
    """The job's name, short enough for its pods' host names `<job>-<task>-<index>`."""
    longest = max((f"-{role}-{count - 1}" for role, count in roles.items()), key=len)
    return job_name(prefix, settings.pipeline_name, suffix, longest)


def host(job: str, role: str) -> str:
    """The address of pod 0 of a role, by the svc plugin's headless Service."""
    return f"{job}-{role}-0.{job}"


def manifest(
    settings: TaskSettings,
    kind: JobKind,
    job: str,
    tasks: Sequence[tuple[str, int, PodTemplate]],
    *,
    policies: Mapping[str, list[LifecyclePolicy]] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """The Volcano Job.

    Args:
        settings: of the task.
        kind: Volcano's Job.
        job: its name.
        tasks: name, replicas and pod template of each task, in the order of ranks.
        policies: further policies of a task, by its name.
        annotations: more annotations of the job.

    Raises:
        UsageError: a flag that a Volcano Job does not have.
    """
    if settings.clean_pod_policy:
        raise UsageError(
            "--clean_pod_policy is for Kubeflow jobs; this is a Volcano Job",
            "leave it out, or use --ttl",
        )
    attempts = settings.max_retry + 1
    spec = VolcanoJobSpec(
        min_available=sum(replicas for _, replicas, _ in tasks),
        max_retry=attempts,
        queue=settings.queue or "default",
        scheduler_name="volcano",
        plugins=dict(_PLUGINS),
        policies=_POLICIES,
        tasks=[
            TaskSpec(
                name=role,
                replicas=replicas,
                min_available=replicas,
                max_retry=attempts,
                template=template,
                policies=(policies or {}).get(role, []),
            )
            for role, replicas, template in tasks
        ],
        priority_class_name=settings.priority_class,
        ttl_seconds_after_finished=int(settings.ttl) or None,
    )
    return Manifest(
        api_version=kind.api_version,
        kind=kind.name,
        metadata=job_metadata(settings, job, annotations),
        spec=spec,
    )
