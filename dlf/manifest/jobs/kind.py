"""A job kind: one record of what its operator does with a job.

Whatever differs between kinds is a field of `JobKind`, so that a new kind is one record and the
rest of dlf asks the record. `dlf.frameworks.job_kinds` lists those that some framework renders.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from dlf.manifest.kinds import Kind
from dlf.manifest.phase import JobState

if TYPE_CHECKING:
    from dlf.manifest.observed import JobStatus


class Replica(msgspec.Struct, frozen=True):
    """One pod of a job, as its operator counts it.

    Attributes:
        job: name of the job.
        roles: every role of the job and its number of replicas, in the order of ranks.
        role: this pod's role, as the manifest writes it.
        index: which of the role's replicas.
    """

    job: str
    roles: Mapping[str, int]
    role: str
    index: int

    @property
    def pod(self) -> str:
        """The pod's name."""
        return pod_name(self.job, self.role, self.index)

    @property
    def rank(self) -> int:
        """The pod's number, counted through the roles in their order."""
        names = list(self.roles)
        return sum(self.roles[role] for role in names[: names.index(self.role)]) + self.index

    def rank_among(self, unranked: Collection[str]) -> int | None:
        """The pod's number where some roles, in lower case, have none; None in such a role."""
        if self.role.lower() in unranked:
            return None
        ranked = {role: n for role, n in self.roles.items() if role.lower() not in unranked}
        return Replica(self.job, ranked, self.role, self.index).rank


class LocalNetwork(Protocol):
    """Where the pods of a job are, when they run as processes on one machine."""

    @property
    def directory(self) -> str:
        """Path of the directory that stands for what operators mount into pods."""

    @property
    def is_offline(self) -> bool:
        """Whether this machine has no network but loopback."""

    def host(self, pod: str) -> str:
        """The address of a pod."""

    def port(self, pod: str, port: int) -> int:
        """The port of this machine that stands for a pod's port."""


UNRANKED_ROLES = "dlf/unranked-roles"
"""Annotation of a job: roles without ranks, separated by commas.

Volcano's tasks have names of their framework's choice, so their kind cannot tell."""

Environment = Callable[[Replica, LocalNetwork], dict[str, str]]
"""`environment(replica, network)`: the variables that the operator adds to the pod."""


class JobKind(Kind, frozen=True, kw_only=True):
    """A job kind and what its operator does.

    Attributes:
        job_label: label under which the operator writes the job's name on each pod.
        role_label: label under which it writes the pod's role.
        index_label: label under which it writes the pod's number in its role.
        deciding_roles: the first of these roles that a job has decides: the job has succeeded when
            all its pods have. Empty where policies of the job decide.
        unranked_roles: roles, in lower case, that take no part in the training's count of ranks.
        state: what the job's status means.
        ssh_key: key of the private key in the Secret `<job>-ssh` that the operator makes for each
            job, or "" when it makes none.
        environment: for the local runtime: the variables that the operator adds to a pod.
    """

    job_label: str
    role_label: str
    index_label: str
    deciding_roles: tuple[str, ...] = ()
    unranked_roles: tuple[str, ...] = ()
    ssh_key: str = ""
    state: "Callable[[JobStatus], JobState]"
    environment: Environment

    def unranked(self, annotations: Mapping[str, str] | None) -> frozenset[str]:
        """The roles, in lower case, without ranks in a job with these annotations."""
        written = (annotations or {}).get(UNRANKED_ROLES, "")
        return frozenset(self.unranked_roles) | frozenset(filter(None, written.split(",")))


def ssh_secret(job: str) -> str:
    """The Secret with the job's ssh key, as Volcano's ssh plugin and mpi-operator name it."""
    return f"{job}-ssh"


def pod_name(job: str, role: str, index: int) -> str:
    """`<job>-<role>-<index>`, as training-operator and Volcano name pods."""
    return f"{job}-{role.lower()}-{index}"


def pods_of(job: str, role: str, count: int) -> list[str]:
    """The names of a role's pods, in order."""
    return [pod_name(job, role, index) for index in range(count)]
