"""Which role, index and rank a pod has in its job, by the labels that the operators write.

Ranks are those of the framework: servers of parameters and schedulers have none.
"""

import re

import msgspec

from dlf.frameworks import job_kinds, kind_of
from dlf.manifest.observed import Job, Pod


class PodIdentity(msgspec.Struct, frozen=True):
    """A pod's place in its job.

    Attributes:
        role: in lower case, such as `worker`, or "".
        index: among the pods of its role, or None.
        rank: global rank, counted through the roles in their order; None for a role without ranks.
    """

    role: str = ""
    index: int | None = None
    rank: int | None = None


class Roles(msgspec.Struct, frozen=True):
    """The roles of a job.

    Attributes:
        replicas: role, in lower case, to its number of pods, in the order of ranks.
        unranked: roles whose pods have no rank.
        containers: role to the names of its training containers.
    """

    replicas: dict[str, int] = {}
    unranked: frozenset[str] = frozenset()
    containers: dict[str, frozenset[str]] = {}

    @property
    def pods(self) -> int:
        """How many pods the job should have."""
        return sum(self.replicas.values())

    @property
    def ranks(self) -> int:
        """How many of them have a rank."""
        return sum(n for role, n in self.replicas.items() if role not in self.unranked)

    def identify(self, pod: Pod) -> PodIdentity:
        """The pod's place in the job; empty where its labels say nothing."""
        labels = pod.metadata.labels or {}
        kinds = [kind for kind in job_kinds() if labels.get(kind.role_label)]
        role = labels[kinds[0].role_label].lower() if kinds else ""
        written = next((labels[k.index_label] for k in kinds if labels.get(k.index_label)), "")
        if not written:  # Volcano up to 1.8 tells the index only in the name
            suffix = re.search(r"-([0-9]+)$", pod.metadata.name)
            written = suffix[1] if suffix else ""
        index = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else None
        if role in self.unranked or role not in self.replicas or index is None:
            return PodIdentity(role, index)
        before = list(self.replicas)[: list(self.replicas).index(role)]
        first = sum(self.replicas[other] for other in before if other not in self.unranked)
        return PodIdentity(role, index, first + index)


def roles_of(job: Job) -> Roles:
    """The roles of a job."""
    return Roles(job.replicas, kind_of(job).unranked(job.metadata.annotations), job.containers)
