"""The permissions that dlf uses, and what each is for.

`dlf check`, docs/how-to/rbac.md and examples/rbac.yaml are made from this table.
"""

from typing import Literal

import msgspec

from dlf.frameworks import job_kinds
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import Kind

Need = Literal["run", "explain", "check", "stacks"]
"""`run`: no job can be run without it. `explain`: jobs run without it, but dlf says or cleans up
less. `check`: only `dlf check` asks for it, which then leaves that line open.
`stacks`: only `dlf stacks` asks for it."""

JOBS = "JOBS"
"""Stands for the resource of the job's own kind."""


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """One rule.

    Attributes:
        what: the operation that needs it.
        verbs: of RBAC.
        group: API group; of the job's kind when the resource is `JOBS`.
        resource: plural, with `/subresource` where there is one.
        why: what dlf does with it.
        need: what is lost without it.
        cluster: the resource has no namespace: a ClusterRole is needed.
        volcano: only Volcano Jobs need it.
    """

    what: str
    verbs: tuple[str, ...]
    group: str = ""
    resource: str = JOBS
    why: str
    need: Need = "run"
    cluster: bool = False
    volcano: bool = False


PERMISSIONS = (
    Permission(
        what="submit",
        verbs=("create", "get"),
        why="create the job, and recognise it when the answer was lost",
    ),
    Permission(
        what="follow",
        verbs=("list", "watch"),
        why="follow the job's state, and find earlier jobs of the task",
    ),
    Permission(
        what="delete",
        verbs=("delete",),
        why="delete the job when dlf is stopped, and replace an earlier one",
    ),
    Permission(
        what="follow",
        verbs=("list", "watch"),
        resource="pods",
        why="follow the pods: which run, which failed first and why",
    ),
    Permission(what="logs", verbs=("get",), resource="pods/log", why="print the logs of all pods"),
    Permission(
        what="own",
        verbs=("get",),
        resource="pods",
        why="make the launcher's pod the job's owner; see whether it is being evicted; "
        "tell the logs of a restarted container apart",
        need="explain",
    ),
    Permission(
        what="clean up",
        verbs=("patch",),
        why="stop what still runs of a finished job; let a job outlive an evicted launcher",
        need="explain",
    ),
    Permission(
        what="clean up",
        verbs=("create",),
        group="bus.volcano.sh",
        resource="commands",
        why="tell Volcano that a job is complete when its first worker is",
        need="explain",
        volcano=True,
    ),
    Permission(
        what="explain",
        verbs=("list", "watch"),
        resource="events",
        why="say why pods do not start: volumes, quota, refusals; image pulls; evictions",
        need="explain",
    ),
    Permission(
        what="explain",
        verbs=("list", "watch"),
        group="scheduling.volcano.sh",
        resource="podgroups",
        why="say why a gang is not admitted",
        need="explain",
    ),
    Permission(
        what="explain",
        verbs=("get",),
        group="scheduling.volcano.sh",
        resource="queues",
        why="say that a queue is closed or does not exist",
        need="explain",
        cluster=True,
    ),
    Permission(
        what="check",
        verbs=("get",),
        resource="persistentvolumeclaims",
        why="look for the task's claims",
        need="check",
    ),
    Permission(
        what="check",
        verbs=("get",),
        resource="configmaps",
        why="look for the task's ConfigMaps",
        need="check",
    ),
    Permission(
        what="check",
        verbs=("get",),
        resource="secrets",
        why="look for the task's Secrets and its image pull secrets",
        need="check",
    ),
    Permission(
        what="check",
        verbs=("get",),
        resource="namespaces",
        why="look for the namespace",
        need="check",
        cluster=True,
    ),
    Permission(
        what="check",
        verbs=("list",),
        resource="nodes",
        why="see whether any node matches, and whether all pods could ever fit",
        need="check",
        cluster=True,
    ),
    Permission(
        what="check",
        verbs=("get",),
        group="scheduling.k8s.io",
        resource="priorityclasses",
        why="look for the task's PriorityClass",
        need="check",
        cluster=True,
    ),
    Permission(
        what="stacks",
        verbs=("create", "get"),
        resource="pods/exec",
        why="ask the worker in each pod where its processes stand",
        need="stacks",
    ),
)


class Verb(msgspec.Struct, frozen=True):
    """One verb on one resource of one kind of job, and the permission that it is part of."""

    verb: str
    group: str
    resource: str
    permission: Permission

    @property
    def text(self) -> str:
        """Such as `create pytorchjobs.kubeflow.org`."""
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


def verbs(kind: Kind) -> list[Verb]:
    """Every verb that running a job of this kind uses, except what only the check itself reads."""
    return [
        Verb(
            verb,
            kind.group if each.resource == JOBS else each.group,
            kind.plural if each.resource == JOBS else each.resource,
            each,
        )
        for each in PERMISSIONS
        if each.need in {"run", "explain"} and (kind == VOLCANO_JOB or not each.volcano)
        for verb in each.verbs
    ]


def rules(*needs: Need, cluster: bool) -> list[dict[str, list[str]]]:
    """The rules of a Role, or of a ClusterRole, for all kinds of jobs: one for each resource.

    Args:
        needs: which permissions.
        cluster: those on what has no namespace, instead of the rest.
    """
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in PERMISSIONS:
        if each.need not in needs or each.cluster is not cluster:
            continue
        for group, resources in _resources(each):
            known = merged.setdefault((group, resources), [])
            known += [verb for verb in each.verbs if verb not in known]
    return [
        {"apiGroups": [group], "resources": list(resources), "verbs": known}
        for (group, resources), known in merged.items()
    ]


def _resources(permission: Permission) -> list[tuple[str, tuple[str, ...]]]:
    if permission.resource != JOBS:
        return [(permission.group, (permission.resource,))]
    groups = dict.fromkeys(kind.group for kind in job_kinds())
    return [
        (group, tuple(dict.fromkeys(kind.plural for kind in job_kinds() if kind.group == group)))
        for group in groups
    ]
