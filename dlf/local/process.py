"""What runs on this machine: one process for each pod."""

from collections.abc import Mapping

import msgspec


class Replica(msgspec.Struct, frozen=True):
    """One pod of a job, as its operator counts it.

    Attributes:
        job: name of the job.
        roles: every role of the job and its replicas, in the order of ranks.
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


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process that stands for a pod.

    Attributes:
        pod: name of the pod.
        role: its role, in lower case.
        rank: global rank, or None for a launcher, which starts ranks and has none.
        container: name of the container.
        argv: the container's command.
        env: the container's variables and the operator's, for this machine.
        cards: accelerators that it asks for; -1 for all.
    """

    pod: str
    role: str
    rank: int | None
    container: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cards: int = 0


def replicas(job: str, roles: Mapping[str, int]) -> list[Replica]:
    """All pods of a job, in the order of ranks."""
    return [Replica(job, roles, role, index) for role in roles for index in range(roles[role])]


def pod_name(job: str, role: str, index: int) -> str:
    """`<job>-<role>-<index>`, as training-operator and Volcano name pods."""
    return f"{job}-{role.lower()}-{index}"


def pods_of(job: str, role: str, count: int) -> list[str]:
    """The names of a role's pods, in order."""
    return [pod_name(job, role, index) for index in range(count)]
