"""What to do with earlier jobs of the same task, decided before anything is sent."""

from collections.abc import Sequence

import msgspec

from dlf.errors import Rejected
from dlf.frameworks import job_state, kind_of
from dlf.manifest.observed import Job
from dlf.task.settings import TaskSettings

SPEC_HASH = "dlf/spec-hash"
"""Annotation: hash of the rendered resource without its random name."""


class AdoptionPlan(msgspec.Struct, frozen=True):
    """First delete the jobs in `replace`; then attach to `attach`, or create a new job if None."""

    attach: Job | None = None
    replace: tuple[Job, ...] = ()


def is_own(job: Job, task: TaskSettings) -> bool:
    """Whether this task of this run started the job.

    A label holds only the valid part of an id, so two tasks may have the same label; then the whole
    id is in an annotation.
    """
    return bool(task.run_id and task.task_id) and all(
        _original(job, key) == value
        for key, value in (("run-id", task.run_id), ("task-id", task.task_id))
    )


def plan_adoption(jobs: Sequence[Job], mode: str, spec_hash: str) -> AdoptionPlan:
    """Plan by the rule of `--on_existing`.

    A job is alive while its phase is not final and nobody deletes it. `auto` attaches to a live
    job with the same rendered resource; what is finished or different is replaced.

    Args:
        jobs: the jobs of this task (same run, same task, same kind).
        mode: `auto`, `attach`, `replace` or `fail`.
        spec_hash: of the resource that would be submitted.

    Raises:
        Rejected: with mode `fail`, when there is any job.
    """
    if mode == "fail" and jobs:
        raise Rejected(
            f"this task already has {kind_of(jobs[0]).title} {jobs[0].metadata.name}",
            "delete it, or use another --on_existing",
            status=409,
            reason="AlreadyExists",
        )
    newest = sorted(jobs, key=lambda job: job.metadata.creation_timestamp, reverse=True)
    for job in newest if mode in {"auto", "attach"} else ():
        same = (job.metadata.annotations or {}).get(SPEC_HASH) == spec_hash
        if _is_alive(job) and (same or mode == "attach"):
            return AdoptionPlan(job, tuple(other for other in newest if other is not job))
    return AdoptionPlan(replace=tuple(newest))


def _is_alive(job: Job) -> bool:
    """Whether the job may still succeed.

    One that is being deleted may not, nor a Volcano Job that is being aborted or terminated: its
    phase is not final yet, but nothing leads back from it.
    """
    is_ending = volcano_phase(job) in {"Aborting", "Terminating"}
    return not (job.metadata.deletion_timestamp or is_ending or job_state(job).phase.final)


def volcano_phase(job: Job) -> str:
    """The phase of a Volcano Job; "" for other kinds."""
    return job.status.state.phase if job.status and job.status.state else ""


def _original(job: Job, key: str) -> str:
    annotations, labels = job.metadata.annotations or {}, job.metadata.labels or {}
    return annotations.get(f"dlf/{key}", labels.get(key, ""))
