"""What to do about a job that is followed: a pure function of its state and the time.

The order of the rules: the job is deleted; its result is known; it can never start; a time limit;
else wait, and explain what is being waited for.
"""

from collections.abc import Iterator

import msgspec

from dlf.diagnose.image_pulls import REFUSAL_GRACE_SECONDS
from dlf.job.ending import Cause, Ending
from dlf.job.followed_job import FollowedJob
from dlf.manifest.phase import JobState, Phase

FINISHING_PATIENCE_SECONDS = 300.0
"""How long the end may take. The pods of a lost node stay Terminating for ever, and with them a
Volcano Job stays Completing, Aborting or Terminating."""

SILENT_OPERATOR_SECONDS = 60.0
"""After which it is told that the operator has written no condition and created no pod."""

READ_REASONS_SECONDS = 4.0
"""How long a normal start takes; after that, events and PodGroup are read."""

TELL_WAITING_SECONDS = 5.0
"""After which it is told what pods wait for; also between two such lines."""

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
        read_reasons: whether to read why pods have not started.
        decide_at: when to decide again, if nothing changes before.
    """

    ending: Ending | None = None
    notices: tuple[Notice, ...] = ()
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
    notices = [notice for notice in (_silent_operator(job, now), _waiting(job, now)) if notice]
    since = job.waiting_since
    return Decision(
        notices=tuple(notices),
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
    if job.finishing_since is not None and now >= job.finishing_since + FINISHING_PATIENCE_SECONDS:
        return _final(job.inferred_state or state)
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


def _waiting_due(job: FollowedJob) -> float | None:
    """When it is time to tell what pods wait for, or None while there is nothing new."""
    if job.waiting_since is None:
        return None
    if "waiting" not in job.told:
        return job.waiting_since + TELL_WAITING_SECONDS
    _, told_at = job.told["waiting"]
    return told_at + TELL_WAITING_SECONDS if job.changed_at > told_at else None


def _deadlines(job: FollowedJob) -> Iterator[float]:
    """The times at which a decision may change although nothing else does."""
    limits = job.limits
    yield job.since + SILENT_OPERATOR_SECONDS
    if limits.start_timeout:
        yield job.since + limits.start_timeout
    if limits.timeout:
        yield job.since + limits.timeout
    if job.finishing_since is not None:
        yield job.finishing_since + FINISHING_PATIENCE_SECONDS
    if job.waiting_since is not None:
        yield job.waiting_since + READ_REASONS_SECONDS
    if (due := _waiting_due(job)) is not None:
        yield due
    if (refused_since := job.reasons.pulls.refused_since) is not None:
        yield refused_since + REFUSAL_GRACE_SECONDS
