"""The outcome of a job that was followed: its exit code, the first cause, what else to know."""

import msgspec

from dlf.diagnose.failures import failures
from dlf.errors import ExitCode
from dlf.job.ending import End, Ending
from dlf.job.follower import Follower
from dlf.job.remove import cleans_up
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.phase import Phase
from dlf.outcome.outcome import Outcome, PodFailure
from dlf.outcome.report import describe

_LISTED = 5

_ENDS = {
    End.DELETED: (ExitCode.DELETED, "was deleted by someone else"),
    End.HOPELESS: (ExitCode.FAILED, "cannot start"),
    End.START_TIMEOUT: (ExitCode.TIMEOUT, "did not start within --start_timeout"),
    End.TIMEOUT: (ExitCode.TIMEOUT, "did not end within --timeout"),
}
_GONE = "the job object was deleted before its result was seen; all its pods had succeeded"


def decide(
    ending: Ending, kind: JobKind, follower: Follower, logs: Multiplexer, *, strict: bool
) -> Outcome:
    """The outcome.

    Args:
        ending: why following ended.
        kind: of the job.
        follower: the job and its pods as they are now.
        logs: knows the last lines of each container.
        strict: a pod that failed in a job that succeeded makes the exit code 1.
    """
    pods = follower.pods
    found = failures(pods, pods.identify, logs.last_lines)
    warnings: list[str] = []
    said = ending.verdict
    operator = ": ".join(filter(None, (said.reason, said.message)))
    if ending.end is End.DELETED and pods.all_succeeded():
        # A finished job's time to live may be over before dlf sees it again.
        warnings.append(_GONE)
    elif ending.end is not End.FINAL:
        code, phase = _ENDS[ending.end]
        return _outcome(follower, code, phase, "", found, warnings, ending.why)
    elif said.phase is Phase.FAILED and not ending.lead:
        found = found or failures(pods, pods.identify, logs.last_lines, restarted=True)
        return _outcome(follower, ExitCode.FAILED, "failed", operator, found, warnings)
    found = tuple(failure for failure in found if not failure.stopped)
    warnings += [f"although the job succeeded, {describe(each)}" for each in found[:_LISTED]]
    still = [pod.metadata.name for pod in pods.running() if not pod.metadata.deletion_timestamp]
    if still and (ending.lead or not cleans_up(kind, follower.job)):
        warnings.append(f"still running although the job has ended: {_listed(still)}")
    if strict and found:
        return _outcome(
            follower, ExitCode.FAILED, "succeeded, but not all its pods", operator, found, warnings
        )
    return _outcome(follower, ExitCode.SUCCEEDED, "succeeded", operator, (), warnings)


def with_logs(outcome: Outcome, logs: Multiplexer) -> Outcome:
    """The outcome, and which logs could not be read whole; `logs` is closed by then."""
    notes = [
        f"{what}: {_listed(found)}"
        for what, found in (
            ("logs not read", logs.unread),
            ("logs not read to their end", logs.incomplete),
        )
        if found
    ]
    return msgspec.structs.replace(outcome, warnings=(*outcome.warnings, *notes))


def _outcome(
    follower: Follower,
    code: ExitCode,
    phase: str,
    operator: str,
    found: tuple[PodFailure, ...],
    warnings: list[str],
    reason: str = "",
) -> Outcome:
    job = follower.job
    return Outcome(
        code=code,
        job=f"{job.kind} {job.metadata.name}",
        phase=phase,
        reason=reason,
        operator=operator,
        failures=found,
        warnings=tuple(warnings),
    )


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
