"""The outcome of a local job: the first cause first, and what else should be known."""

from dlf.errors import ExitCode
from dlf.job.outcome import Outcome, PodFailure
from dlf.job.report import describe
from dlf.local.attempt import Attempt


def conclude(name: str, attempt: Attempt, *, succeeded: bool, strict: bool) -> Outcome:
    """The outcome of a job that ended by its operator's rules.

    Args:
        name: kind and name of the job.
        attempt: the last one.
        succeeded: what the rules say.
        strict: a pod that failed in a job that succeeded makes the exit code 1.
    """
    failures = _failures(attempt)
    if not succeeded:
        return Outcome(code=ExitCode.FAILED, job=name, phase="failed", failures=failures)
    warnings = [f"although the job succeeded, {describe(each)}" for each in failures]
    if attempt.stopped:
        still = ", ".join(attempt.stopped)
        warnings.append(f"still running when the job had ended, and stopped: {still}")
    return Outcome(
        code=ExitCode.FAILED if strict and failures else ExitCode.SUCCEEDED,
        job=name,
        phase="succeeded, but not all its pods" if strict and failures else "succeeded",
        failures=failures if strict else (),
        warnings=tuple(warnings),
    )


def timed_out(name: str, attempt: Attempt) -> Outcome:
    """The outcome of a job that was stopped at its time limit."""
    still = ", ".join(attempt.stopped)
    return Outcome(
        code=ExitCode.TIMEOUT,
        job=name,
        phase="did not end within --timeout",
        reason=f"still running: {still}" if still else "",
        failures=_failures(attempt),
    )


def _failures(attempt: Attempt) -> tuple[PodFailure, ...]:
    return tuple(
        PodFailure(
            pod=end.process.pod,
            role=end.process.role,
            rank=end.process.rank,
            container=end.process.container,
            exit_code=end.code,
            reason="Error",
            finished_at=end.finished_at,
            last_lines=tuple(attempt.last[end.process.pod]),
        )
        for end in attempt.ends
        if end.code
    )
