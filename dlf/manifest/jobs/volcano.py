"""The Volcano Job, batch.volcano.sh/v1alpha1, and its bus.volcano.sh/v1alpha1 Command.

All that Volcano's webhook would default is written out, since its admission may not be installed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dlf.manifest.jobs.kind import JobKind, LocalNetwork, Replica, pods_of
from dlf.manifest.meta import ObjectMeta, Written
from dlf.manifest.phase import JobState, Phase
from dlf.manifest.pods import PodTemplate

if TYPE_CHECKING:
    from dlf.manifest.observed import JobStatus

HOST_FILES = "DLF_VOLCANO_DIR"
"""Names the directory that stands for /etc/volcano, with a file `<task>.host` for each task."""


class LifecyclePolicy(Written):
    """batch.volcano.sh LifecyclePolicy: what the controller does when the event happens."""

    event: str
    action: str


class TaskSpec(Written):
    """batch.volcano.sh TaskSpec: one role. Pods are named `<job>-<task>-<index>`."""

    name: str
    replicas: int
    min_available: int
    max_retry: int
    template: PodTemplate
    policies: list[LifecyclePolicy] = []


class VolcanoJobSpec(Written):
    """batch.volcano.sh JobSpec. `max_retry` counts attempts: 1 is no retry, 0 cannot be said."""

    min_available: int
    max_retry: int
    queue: str
    scheduler_name: str
    plugins: dict[str, list[str]]
    policies: list[LifecyclePolicy]
    tasks: list[TaskSpec]
    priority_class_name: str = ""
    ttl_seconds_after_finished: int | None = None


class Command(Written):
    """bus.volcano.sh Command: asks Volcano's controller for one action on a job, then vanishes."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    action: str
    target: dict[str, str | bool]


_PHASES = {
    "": Phase.SUBMITTED,
    "Pending": Phase.QUEUED,
    "Running": Phase.RUNNING,
    "Restarting": Phase.RESTARTING,
    "Completing": Phase.FINISHING,
    "Aborting": Phase.FINISHING,
    "Terminating": Phase.FINISHING,
    "Completed": Phase.SUCCEEDED,
    "Failed": Phase.FAILED,
    "Aborted": Phase.FAILED,  # could be resumed by hand; nobody does for a pipeline step
    "Terminated": Phase.FAILED,
}


def _state(status: "JobStatus") -> JobState:
    """All ten phases; an unknown one is waited on."""
    if not status.state:
        return JobState(Phase.SUBMITTED)
    found = status.state
    phase = _PHASES.get(found.phase)
    if phase is None:
        return JobState(Phase.RUNNING, found.reason or "", found.message or "", (found.phase,))
    return JobState(phase, found.reason or found.phase, found.message or "")


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """What the plugins env and svc add, which every job of dlf asks for."""
    index = str(replica.index)
    env = {"VC_TASK_INDEX": index, "VK_TASK_INDEX": index, HOST_FILES: network.directory}
    for task, count in replica.roles.items():
        name = task.upper().replace("-", "_")
        hosts = [network.host(pod) for pod in pods_of(replica.job, task, count)]
        env |= {f"VC_{name}_HOSTS": ",".join(hosts), f"VC_{name}_NUM": str(count)}
    return env


def host_files(job: str, roles: Mapping[str, int], network: LocalNetwork) -> dict[str, str]:
    """File name and content, as the svc plugin mounts them on /etc/volcano: one host a line."""
    return {
        f"{task.replace('-', '_')}.host": "".join(
            f"{network.host(pod)}\n" for pod in pods_of(job, task, count)
        )
        for task, count in roles.items()
    }


VOLCANO_JOB = JobKind(
    group="batch.volcano.sh",
    version="v1alpha1",
    name="Job",
    plural="jobs",
    job_label="volcano.sh/job-name",
    role_label="volcano.sh/task-spec",
    index_label="volcano.sh/task-index",
    ssh_key="id_rsa",
    state=_state,
    environment=_environment,
)
