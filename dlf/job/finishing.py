"""Jobs that are about to end, and may never get there."""

from collections.abc import Iterable

from dlf.diagnose.roles import Identity
from dlf.frameworks import job_state
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.observed import Job
from dlf.manifest.phase import JobState, Phase

PATIENCE = 300.0
"""Seconds that the end may take. The pods of a lost node stay Terminating for ever, and with them
a Volcano Job stays Completing, Aborting or Terminating."""


def foregone(job: Job, pods: Iterable[tuple[Identity, bool]]) -> JobState | None:
    """How a job ends that is FINISHING; None while that is open.

    A Volcano Job goes to the state that its phase is named after. mpi-operator's Failed without a
    completionTime is provisional as long as the launcher lives, which may yet succeed.

    Args:
        job: as it is.
        pods: who each is, and whether it has ended.
    """
    found = job_state(job)
    if found.phase is not Phase.FINISHING:
        return None
    if job.api_version == VOLCANO_JOB.api_version:
        completing = job.status and job.status.state and job.status.state.phase == "Completing"
        return JobState(
            Phase.SUCCEEDED if completing else Phase.FAILED, found.reason, found.message
        )
    if any(who.role == "launcher" and not over for who, over in pods):
        return None
    holding = {
        each.type
        for each in (job.status.conditions if job.status else None) or ()
        if each.status == "True"
    }
    phase = Phase.FAILED if "Failed" in holding else Phase.SUCCEEDED
    return JobState(phase, found.reason, found.message)
