"""Finds existing jobs of every kind that the cluster serves."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from dlf.errors import DlfError, JobNotFound, Rejected, UsageError, similar
from dlf.frameworks import job_kinds
from dlf.job.adopt import SPEC_HASH
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.observed import Job

FoundJob = tuple[JobKind, Job]
T = TypeVar("T")


def matches(kind: JobKind, kind_filter: str) -> bool:
    """Whether `--kind` means this kind: by its name, plural or platform type; "" means any."""
    return kind_filter.lower() in {"", kind.name.lower(), kind.plural, kind.type_label}


async def served_kinds(client: KubeClient, kind_filter: str = "") -> list[JobKind]:
    """The job kinds that the cluster serves.

    Raises:
        UsageError: `kind_filter` is no kind.
        Rejected: the cluster serves none of them.
    """
    wanted = [kind for kind in job_kinds() if matches(kind, kind_filter)]
    if not wanted:
        names = ", ".join(dict.fromkeys(kind.name for kind in job_kinds()))
        raise UsageError(f"--kind={kind_filter!r} is not a kind of job", f"write one of {names}")
    versions = sorted({(kind.group, kind.version) for kind in wanted})
    plurals = await asyncio.gather(*(client.served_resources(*version) for version in versions))
    served = dict(zip(versions, plurals, strict=True))
    found = [kind for kind in wanted if kind.plural in served[kind.group, kind.version]]
    if not found:
        raise Rejected(
            "the cluster serves no kind of training job"
            + (f" {kind_filter!r}" if kind_filter else ""),
            "install the operator that does: training-operator, mpi-operator or Volcano",
            status=404,
            reason="NotFound",
        )
    return found


async def dlf_jobs(client: KubeClient, namespace: str) -> list[FoundJob]:
    """The jobs of a namespace, "" for all, that dlf submitted, the newest first.

    Kinds that may not be listed are left out, unless none may be.

    Raises:
        Rejected: no kind is served, or none may be listed.
    """
    kinds = await served_kinds(client)
    answers = await _answers([client.list(kind, namespace, Job) for kind in kinds], Rejected)
    found: dict[str, FoundJob] = {}
    for kind, answer in zip(kinds, answers, strict=True):
        for job in answer[0] if answer else ():
            if SPEC_HASH in (job.metadata.annotations or {}):
                # An object may be served in two versions.
                found.setdefault(job.metadata.uid, (kind, job))
    return sorted(
        found.values(), key=lambda each: each[1].metadata.creation_timestamp, reverse=True
    )


async def find_by_name(
    client: KubeClient, namespace: str, name: str, kind_filter: str
) -> list[FoundJob]:
    """The jobs of this name, at most one of each kind; whoever started them.

    Raises:
        UsageError, Rejected: as `served_kinds`; and Rejected when no kind may be read.
    """
    kinds = await served_kinds(client, kind_filter)
    answers = await _answers([client.get(kind, namespace, name, Job) for kind in kinds], DlfError)
    found: dict[str, FoundJob] = {}
    for kind, job in zip(kinds, answers, strict=True):
        if job:
            found.setdefault(job.metadata.uid, (kind, job))
    return list(found.values())


async def _answers(
    requests: Sequence[Coroutine[Any, Any, T]], tolerated: type[DlfError]
) -> list[T | None]:
    """The results of requests, None for one that failed.

    Raises:
        DlfError: all failed, or one otherwise than by `tolerated`.
    """
    answers = await asyncio.gather(*requests, return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    if len(failed) == len(answers) or any(not isinstance(each, tolerated) for each in failed):
        raise failed[0]
    return [None if isinstance(answer, BaseException) else answer for answer in answers]


async def get_one(client: KubeClient, namespace: str, name: str, kind_filter: str) -> FoundJob:
    """The job of this name.

    Raises:
        JobNotFound: there is none.
        UsageError: several kinds have one, or `kind_filter` is no kind.
    """
    found = await find_by_name(client, namespace, name, kind_filter)
    if not found:
        raise await not_found(client, namespace, name)
    return require_unique(found)


def require_unique(found: list[FoundJob]) -> FoundJob:
    """The job that was found.

    Raises:
        UsageError: there are several.
    """
    if len(found) > 1:
        kinds = " and ".join(f"a {kind.title}" for kind, _ in found)
        name = found[0][1].metadata.name
        raise UsageError(f"{name!r} is the name of {kinds}", "say which with --kind")
    return found[0]


async def not_found(client: KubeClient, namespace: str, name: str) -> JobNotFound:
    """The error that there is no such job; it proposes the nearest name that dlf submitted."""
    try:
        names = [job.metadata.name for _, job in await dlf_jobs(client, namespace)]
    except Rejected:
        names = []
    hint = similar(name, names)
    return JobNotFound(
        f"there is no job {name!r} in namespace {namespace}",
        f"did you mean {hint}?" if hint else "see dlf list",
    )
