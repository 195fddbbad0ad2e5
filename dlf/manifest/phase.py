"""What a job's status means: always decided from the state that is there, never from a change.

Kubeflow kinds say it in conditions, of which only those with status "True" hold, in any order.
Volcano says it in one phase.
"""

import enum
from collections.abc import Iterable

import msgspec

from dlf.manifest.kinds import MPIJOB_V2BETA1, VOLCANO_JOB
from dlf.manifest.observed import Condition, Job, JobStatus


class Phase(enum.Enum):
    """The phases of every job kind, in dlf's words."""

    SUBMITTED = "submitted"  # the operator has not reacted yet
    QUEUED = "queued"  # accepted; pods may not exist yet
    RUNNING = "running"
    RESTARTING = "restarting"
    FINISHING = "finishing"  # the end is near, but not decided
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Whether nothing can follow."""
        return self in {Phase.SUCCEEDED, Phase.FAILED}


class JobState(msgspec.Struct, frozen=True):
    """A phase, the operator's own words for it, and what in the status dlf does not know."""

    phase: Phase
    reason: str = ""
    message: str = ""
    unknown: tuple[str, ...] = ()


# The first of these whose condition holds is the phase. Failed wins over Succeeded: a TFJob whose
# worker fails after its chief succeeded has both.
_CONDITIONS = {
    "Failed": Phase.FAILED,
    "Succeeded": Phase.SUCCEEDED,
    "Suspended": Phase.QUEUED,
    "Restarting": Phase.RESTARTING,
    "Running": Phase.RUNNING,
    "Created": Phase.QUEUED,
}

_VOLCANO = {
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


def job_state(job: Job) -> JobState:
    """The phase of a job of any kind."""
    status = job.status or JobStatus()
    if job.api_version == VOLCANO_JOB.api_version:
        return _volcano(status)
    found = _kubeflow(status.conditions or ())
    if job.api_version == MPIJOB_V2BETA1.api_version and not status.completion_time:
        # mpi-operator marks a job Failed when a worker is evicted, and takes it back when the
        # launcher still succeeds; only the completion time makes it final.
        return msgspec.structs.replace(found, phase=_open(found.phase))
    return found


def _open(phase: Phase) -> Phase:
    return Phase.FINISHING if phase.final else phase


def _kubeflow(conditions: Iterable[Condition]) -> JobState:
    holding = {condition.type: condition for condition in conditions if condition.status == "True"}
    unknown = tuple(name for name in holding if name not in _CONDITIONS)
    for name, phase in _CONDITIONS.items():
        if condition := holding.get(name):
            return JobState(phase, condition.reason or "", condition.message or "", unknown)
    return JobState(Phase.SUBMITTED, unknown=unknown)


def _volcano(status: JobStatus) -> JobState:
    if not status.state:
        return JobState(Phase.SUBMITTED)
    state = status.state
    phase = _VOLCANO.get(state.phase)
    if phase is None:
        return JobState(Phase.RUNNING, state.reason or "", state.message or "", (state.phase,))
    return JobState(phase, state.reason or state.phase, state.message or "")
