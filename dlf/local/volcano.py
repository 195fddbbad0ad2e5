"""Volcano Job: the variables of its plugins env and svc, and its policies as rules."""

from collections.abc import Mapping

from dlf.local.network import HOST
from dlf.local.process import Replica, pod_name, pods_of
from dlf.local.rules import Rules
from dlf.manifest.volcano import LifecyclePolicy, VolcanoJobSpec

HOST_FILES = "DLF_VOLCANO_DIR"
"""Names the directory that stands for /etc/volcano, with a file `<task>.host` for each task."""

_ENDS_JOB = {"RestartJob", "AbortJob", "TerminateJob"}


def environment(replica: Replica, spec: VolcanoJobSpec, directory: str) -> dict[str, str]:
    """What the plugins that the job asks for inject."""
    env: dict[str, str] = {}
    if "env" in spec.plugins:
        env |= {"VC_TASK_INDEX": str(replica.index), "VK_TASK_INDEX": str(replica.index)}
    if "svc" in spec.plugins:
        env[HOST_FILES] = directory
        for task, count in replica.roles.items():
            name = task.upper().replace("-", "_")
            env |= {f"VC_{name}_HOSTS": ",".join([HOST] * count), f"VC_{name}_NUM": str(count)}
    return env


def host_files(roles: Mapping[str, int]) -> dict[str, str]:
    """File name and content: one host a line."""
    return {f"{task.replace('-', '_')}.host": f"{HOST}\n" * n for task, n in roles.items()}


def rules(job: str, spec: VolcanoJobSpec, leader: str) -> Rules:
    """The policies: who completes the job, whose failure ends it, how often it starts.

    Without a policy for failed pods the job goes on until all pods have ended.

    Args:
        job: its name.
        spec: of the job.
        leader: the task whose pod 0 completes the job, or "".
    """
    groups, fatal = [], set()
    for task in spec.tasks:
        pods = pods_of(job, task.name, task.replicas)
        if _has([*task.policies, *spec.policies], "PodFailed", _ENDS_JOB):
            fatal |= set(pods)
        if _has(task.policies, "TaskCompleted", {"CompleteJob"}):
            groups.append(frozenset(pods))
    everyone = [pod for task in spec.tasks for pod in pods_of(job, task.name, task.replicas)]
    if leader:
        groups.append(frozenset({pod_name(job, leader, 0)}))
    retries = _has(spec.policies, "PodFailed", {"RestartJob"})
    return Rules(
        succeed=(*groups, frozenset(everyone)),
        fatal=frozenset(fatal),
        attempts=spec.max_retry if retries else 1,
    )


def _has(policies: list[LifecyclePolicy], event: str, actions: set[str]) -> bool:
    return any(policy.event in {event, "*"} and policy.action in actions for policy in policies)
