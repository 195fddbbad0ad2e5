"""The outcome of a job that was followed: its exit code, the first cause, what else to know."""

from dlf.errors import ExitCode
from dlf.frameworks.phase import Phase
from dlf.job.failures import failures
from dlf.job.follower import End, Ending, Follower
from dlf.job.outcome import Outcome, PodFailure
from dlf.job.report import describe
from dlf.logs.mux import Multiplexer

_LISTED = 5

_ENDS = {
    End.DELETED: (ExitCode.DELETED, "was deleted by someone else"),
    End.HOPELESS: (ExitCode.FAILED, "cannot start"),
    End.START_TIMEOUT: (ExitCode.TIMEOUT, "did not start within --start_timeout"),
    End.TIMEOUT: (ExitCode.TIMEOUT, "did not end within --timeout"),
}


def decide(ending: Ending, follower: Follower, logs: Multiplexer, *, strict: bool) -> Outcome:
    """The outcome.

    Args:
        ending: why following ended.
        follower: the job and its pods as they are now.
        logs: knows the last lines of each container, and which could not be read whole.
        strict: a pod that failed in a job that succeeded makes the exit code 1.
    """
    found = failures(
        [*follower.pods.values(), *follower.ended_pods.values()], follower.identify, logs.last_lines
    )
    warnings = list(logs.incomplete)
    if ending.end is not End.FINAL:
        code, phase = _ENDS[ending.end]
        return _outcome(follower, code, phase, ending.why, found, warnings)
    said = ending.verdict
    reason = ": ".join(filter(None, (said.reason, said.message)))
    if still := [pod.metadata.name for pod in follower.running()]:
        warnings.append(f"still running when the job had ended, and stopped: {_listed(still)}")
    if said.phase is Phase.FAILED and not ending.lead:
        return _outcome(follower, ExitCode.FAILED, "failed", reason, found, warnings)
    warnings += [f"although the job succeeded, {describe(each)}" for each in found[:_LISTED]]
    code = ExitCode.FAILED if strict and found else ExitCode.SUCCEEDED
    return _outcome(follower, code, "succeeded", reason, found if strict else (), warnings)


def _outcome(
    follower: Follower,
    code: ExitCode,
    phase: str,
    reason: str,
    found: tuple[PodFailure, ...],
    warnings: list[str],
) -> Outcome:
    job = follower.job
    return Outcome(
        code=code,
        job=f"{job.kind} {job.metadata.name}",
        phase=phase,
        reason=reason,
        failures=found,
        warnings=tuple(warnings),
    )


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
