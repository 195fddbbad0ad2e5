"""When a job has succeeded or failed: the rules of its operator, as data."""

from collections.abc import Mapping

import msgspec

from dlf.manifest.jobs.kind import JobKind, pod_name, pods_of
from dlf.manifest.jobs.kubeflow import KubeflowJobSpec
from dlf.manifest.jobs.volcano import LifecyclePolicy, VolcanoJobSpec

_ENDS_JOB = {"RestartJob", "AbortJob", "TerminateJob"}


class OperatorRules(msgspec.Struct, frozen=True, kw_only=True):
    """How an operator decides, in terms of pods.

    Attributes:
        succeed: the job has succeeded as soon as all pods of one of these groups have.
        fatal: the job has failed as soon as one of these pods has.
        restarts: how often containers are restarted in place, all pods together.
        attempts: how often the whole job is started.
        stops_remaining_pods: pods that still run when the job has ended are stopped at once.
    """

    succeed: tuple[frozenset[str], ...]
    fatal: frozenset[str]
    restarts: int = 0
    attempts: int = 1
    stops_remaining_pods: bool = False


def has_succeeded(rules: OperatorRules, codes: Mapping[str, int], pods: int) -> bool | None:
    """Whether the job has succeeded (True), failed (False), or goes on (None).

    Args:
        rules: of the operator.
        codes: exit codes of the pods that have ended, by name.
        pods: how many pods there are.
    """
    if any(code and pod in rules.fatal for pod, code in codes.items()):
        return False
    if any(all(codes.get(pod) == 0 for pod in group) for group in rules.succeed):
        return True
    return False if len(codes) == pods else None


def kubeflow_rules(job: str, spec: KubeflowJobSpec, kind: JobKind) -> OperatorRules:
    """The rule of training-operator: one role decides, and any failure fails the job.

    Containers are restarted in place; with as many restarts as backoffLimit the job has failed.
    """
    roles = {role: each.replicas for role, each in spec.replica_specs.items()}
    deciding_role = next(role for role in kind.deciding_roles if role in roles)
    policies = {each.restart_policy for each in spec.replica_specs.values()}
    restarts = max(spec.run_policy.backoff_limit - 1, 0) if policies == {"OnFailure"} else 0
    return OperatorRules(
        succeed=(frozenset(pods_of(job, deciding_role, roles[deciding_role])),),
        fatal=frozenset(pod for role, count in roles.items() for pod in pods_of(job, role, count)),
        restarts=restarts,
        stops_remaining_pods=spec.run_policy.clean_pod_policy in {"Running", "All"},
    )


def volcano_rules(job: str, spec: VolcanoJobSpec, leader: str) -> OperatorRules:
    """The policies of a Volcano Job: who completes it, whose failure ends it, how often it starts.

    Without a policy for failed pods the job goes on until all pods have ended. Volcano stops the
    pods of a job that is complete; the end of a leader is none for Volcano, and dlf completes it.

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
    return OperatorRules(
        succeed=(*groups, frozenset(everyone)),
        fatal=frozenset(fatal),
        attempts=spec.max_retry if retries else 1,
        stops_remaining_pods=not leader,
    )


def _has(policies: list[LifecyclePolicy], event: str, actions: set[str]) -> bool:
    return any(policy.event in {event, "*"} and policy.action in actions for policy in policies)
