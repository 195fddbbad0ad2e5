"""Which role, index and rank a pod has in its job, by the labels that the operators write."""

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


def replicas(job: Job) -> dict[str, int]:
    """Role to number of pods, roles in lower case and in the order of ranks."""
    return job.replicas


def ranks(job: Job) -> int:
    """How many ranks the job has."""
    unranked = kind_of(job).unranked_roles
    return sum(count for role, count in replicas(job).items() if role not in unranked)


def identify(pod: Pod, counts: dict[str, int]) -> PodIdentity:
    """The pod's place in a job of these replicas; empty where its labels say nothing."""
    labels = pod.metadata.labels or {}
    kinds = [kind for kind in job_kinds() if labels.get(kind.role_label)]
    role = labels[kinds[0].role_label].lower() if kinds else ""
    written = next((labels[k.index_label] for k in kinds if labels.get(k.index_label)), "")
    if not written:  # Volcano up to 1.8 tells the index only in the name
        suffix = re.search(r"-([0-9]+)$", pod.metadata.name)
        written = suffix[1] if suffix else ""
    index = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else None
    unranked = {role for kind in kinds for role in kind.unranked_roles}
    if role in unranked or role not in counts or index is None:
        return PodIdentity(role, index)
    ranked = [name for name in counts if name not in unranked]
    return PodIdentity(role, index, sum(counts[r] for r in ranked[: ranked.index(role)]) + index)
