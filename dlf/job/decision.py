"""What to do about a job that is followed: a pure function of its state and the time.

The order of the rules: the job is deleted; its result is known; it can never start; a time limit;
else wait, and explain what is being waited for.
"""

from collections.abc import Iterator

import msgspec

from dlf.diagnose.image_pulls import REFUSAL_GRACE_SECONDS
from dlf.job.ending import Cause, Ending
from dlf.job.followed_job import FollowedJob
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.phase import JobState, Phase

FINISHING_PATIENCE_SECONDS = 300.0
"""How long the end may take. The pods of a lost node stay Terminating for ever, and with them a
Volcano Job stays Completing, Aborting or Terminating."""

LAUNCHER_PATIENCE_SECONDS = 30.0
"""The same for a job of mpi-operator whose launcher has ended for good: the operator needs seconds,
and until then the workers hold their accelerators."""

TELL_SIDECARS_SECONDS = 10.0
"""How long after the end of the training dlf says which sidecars keep its pods running."""

SIDECARS_PATIENCE_SECONDS = 60.0
"""How long after the end of the training dlf ends the job itself; an operator that counts training
containers only, as training-operator does, needs seconds."""

SILENT_OPERATOR_SECONDS = 60.0
"""How long an operator may neither write a condition nor create a pod before dlf says so."""

READ_REASONS_SECONDS = 4.0
"""How long a normal start takes; after that, dlf reads events and PodGroup."""

TELL_WAITING_SECONDS = 5.0
"""How long pods may wait before dlf says for what; also between two such lines."""

TELL_QUIET_SECONDS = 600.0
"""How long nothing may happen in a job before dlf names a rank that has printed a traceback: others
may wait for it for ever."""

_NEVER = float("inf")


class Notice(msgspec.Struct, frozen=True):
    """A line to tell the user; once for each topic and key."""

    topic: str
    key: object
    text: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now.

    Attributes:
        ending: how the job ended, or None: follow it on.
        notices: what to tell.
        tell_quiet: whether to tell which ranks have raised, since nothing has happened for long.
        read_reasons: whether to read why pods have not started.
        decide_at: when to decide again, if nothing changes before.
    """

    ending: Ending | None = None
    notices: tuple[Notice, ...] = ()
    tell_quiet: bool = False
    read_reasons: bool = False
    decide_at: float = _NEVER


def decide(job: FollowedJob, now: float) -> Decision:
    """Decide from the state as it is.

    Args:
        job: what is known.
        now: seconds of the clock of its times.
    """
    if ending := _ending(job, now):
        return Decision(ending=ending)
    explanations = (_silent_operator, _waiting, _finishing, _sidecars)
    notices = [notice for each in explanations if (notice := each(job, now))]
    since = job.waiting_since
    return Decision(
        notices=tuple(notices),
        tell_quiet=job.is_training and now >= job.quiet_since + TELL_QUIET_SECONDS,
        read_reasons=since is not None and now >= since + READ_REASONS_SECONDS,
        decide_at=min((time for time in _deadlines(job) if time > now), default=_NEVER),
    )


def _ending(job: FollowedJob, now: float) -> Ending | None:
    state = job.state
    # An operator writes no more results into a job that is deleted, but the last state may be one.
    if job.leader_succeeded:
        return Ending(Cause.LEADER_SUCCEEDED, state)
    if state.phase.final:
        return _final(state)
    if job.deleted is not None:
        # A finished job's time to live may be over before dlf sees its result.
        succeeded = job.pods.all_succeeded()
        return Ending(
            Cause.DELETED_AFTER_SUCCESS if succeeded else Cause.DELETED, state, job.deleted
        )
    if unstartable := job.reasons.pulls.unstartable(now):
        return Ending(Cause.UNSTARTABLE, state, unstartable)
    refusal = job.reasons.warnings.refusal
    if state.phase is Phase.SUBMITTED and refusal:
        return Ending(Cause.UNSTARTABLE, state, f"the operator refuses it: {refusal}")
    limits = job.limits
    if (
        limits.start_timeout
        and now >= job.since + limits.start_timeout
        and not job.pods.all_started
    ):
        return Ending(Cause.START_TIMEOUT, state, _waits_for(job))
    if limits.timeout and now >= job.since + limits.timeout:
        return Ending(Cause.TIMEOUT, state, _waits_for(job))
    if limits.hang_timeout and job.is_training and now >= job.quiet_since + limits.hang_timeout:
        return Ending(Cause.HUNG, state)
    if job.finishing_since is not None and now >= job.finishing_since + _patience(job):
        return _final(job.inferred_state or state)
    if job.sidecars_since is not None and now >= job.sidecars_since + SIDECARS_PATIENCE_SECONDS:
        cause = Cause.TRAINING_SUCCEEDED if job.training_result() else Cause.TRAINING_FAILED
        return Ending(cause, state, f"its training has ended; {job.describe_sidecars()} ran on")
    return None


def _final(state: JobState) -> Ending:
    return Ending(Cause.SUCCEEDED if state.phase is Phase.SUCCEEDED else Cause.FAILED, state)


def _waits_for(job: FollowedJob) -> str:
    reason = job.pending_reason()
    return reason.sentence if reason else job.count


def _silent_operator(job: FollowedJob, now: float) -> Notice | None:
    if job.state.phase is not Phase.SUBMITTED or job.pods.here:
        return None
    if now < job.since + SILENT_OPERATOR_SECONDS:
        return None
    events = "; ".join(job.reasons.warnings.others(set())) or "it wrote no event either"
    return Notice("silent operator", None, f"the operator has not reacted to the job: {events}")


def _waiting(job: FollowedJob, now: float) -> Notice | None:
    """What pods wait for, when that takes longer than usual."""
    due = _waiting_due(job)
    if due is None or now < due:
        return None
    reason = job.pending_reason()
    return Notice("waiting", reason.causes, reason.sentence) if reason else None


def _patience(job: FollowedJob) -> float:
    if job.job.api_version == VOLCANO_JOB.api_version or job.launcher_may_restart:
        return FINISHING_PATIENCE_SECONDS
    return LAUNCHER_PATIENCE_SECONDS


def _finishing(job: FollowedJob, _now: float) -> Notice | None:
    """mpi-operator says Failed, or Succeeded, and may take it back; until then the workers run."""
    inferred = job.inferred_state
    if not inferred or job.job.api_version == VOLCANO_JOB.api_version:
        return None
    reason = ": ".join(filter(None, (inferred.reason, inferred.message)))
    return Notice(
        "finishing",
        inferred.phase,
        f"the launcher has ended and the job has {inferred.phase.value} ({reason}); its workers are"
        f" stopped within {_patience(job):.0f} s, unless the operator decides otherwise",
    )


def _sidecars(job: FollowedJob, now: float) -> Notice | None:
    """The training has ended, and something that was injected into its pods has not."""
    if job.sidecars_since is None or now < job.sidecars_since + TELL_SIDECARS_SECONDS:
        return None
    left = SIDECARS_PATIENCE_SECONDS - TELL_SIDECARS_SECONDS
    return Notice(
        "sidecars",
        None,
        f"the training has ended, but {job.describe_sidecars()} runs on; the job ends with the"
        f" training's result in {left:.0f} s",
    )


def _waiting_due(job: FollowedJob) -> float | None:
    """When it is time to tell what pods wait for, or None while there is nothing new."""
    if job.waiting_since is None:
        return None
    if "waiting" not in job.last_notices:
        return job.waiting_since + TELL_WAITING_SECONDS
    _, told_at = job.last_notices["waiting"]
    return told_at + TELL_WAITING_SECONDS if job.changed_at > told_at else None


def _deadlines(job: FollowedJob) -> Iterator[float]:
    """The times at which a decision may change although nothing else does."""
    limits = job.limits
    yield job.since + SILENT_OPERATOR_SECONDS
    if limits.start_timeout:
        yield job.since + limits.start_timeout
    if limits.timeout:
        yield job.since + limits.timeout
    if job.is_training:
        yield job.quiet_since + TELL_QUIET_SECONDS
        if limits.hang_timeout:
            yield job.quiet_since + limits.hang_timeout
    if job.finishing_since is not None:
        yield job.finishing_since + _patience(job)
    if job.sidecars_since is not None:
        yield job.sidecars_since + TELL_SIDECARS_SECONDS
        yield job.sidecars_since + SIDECARS_PATIENCE_SECONDS
    if job.waiting_since is not None:
        yield job.waiting_since + READ_REASONS_SECONDS
    if (due := _waiting_due(job)) is not None:
        yield due
    if (refused_since := job.reasons.pulls.refused_since) is not None:
        yield refused_since + REFUSAL_GRACE_SECONDS
