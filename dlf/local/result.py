"""The outcome of a local job: the first cause first, and what else should be known."""

from dlf.diagnose.first_cause import victims_last
from dlf.diagnose.log_evidence import find_evidence, shown
from dlf.errors import DlfError, ExitCode
from dlf.local.attempt import Attempt, PodEnd
from dlf.local.run_record import RunEnded, now
from dlf.outcome.outcome import Outcome, PodFailure
from dlf.outcome.report import describe, headline
from dlf.task.scalars import format_duration


def conclude(name: str, attempt: Attempt, *, timeout: float, strict: bool) -> Outcome:
    """The outcome of a job: what its operator would say, or that --timeout was reached.

    Args:
        name: kind and name of the job.
        attempt: the last one.
        timeout: seconds that the whole job may take.
        strict: a pod that failed in a job that succeeded makes the exit code 1.
    """
    failures = _failures(attempt)
    still = ", ".join(attempt.stopped)
    if attempt.succeeded is None:
        return Outcome(
            code=ExitCode.TIMEOUT,
            job=name,
            phase=f"did not finish within {format_duration(timeout)} (--timeout)",
            reason=f"still running: {still}" if still else "",
            failures=failures,
        )
    if not attempt.succeeded:
        return Outcome(code=ExitCode.FAILED, job=name, phase="failed", failures=failures)
    warnings = [f"although the job succeeded, {describe(each)}" for each in failures]
    if still:
        warnings.append(f"still running when the job had ended, and stopped: {still}")
    failed = strict and bool(failures)
    return Outcome(
        code=ExitCode.FAILED if failed else ExitCode.SUCCEEDED,
        job=name,
        phase="succeeded, but not all its pods" if failed else "succeeded",
        failures=failures if failed else (),
        warnings=tuple(warnings),
    )


def end_of(outcome: Outcome) -> RunEnded:
    """The end of a run as its record has it."""
    state = "succeeded" if outcome.code == ExitCode.SUCCEEDED else "failed"
    text = headline(outcome).removeprefix(outcome.job).strip()
    return RunEnded(state=state, reason=text.removeprefix(state).removeprefix(": "), time=now())


def end_by_error(error: BaseException) -> RunEnded:
    """The end of a run that has no outcome: dlf was stopped, or could not go on."""
    if isinstance(error, DlfError):
        return RunEnded(state="failed", reason=error.message, time=now())
    if isinstance(error, Exception):
        reason = f"a bug in dlf: {type(error).__name__}: {error}"
        return RunEnded(state="failed", reason=reason, time=now())
    return RunEnded(state="stopped", reason="dlf was stopped before its end", time=now())


def _failures(attempt: Attempt) -> tuple[PodFailure, ...]:
    found = (_failure(end, attempt.last[end.process.pod].lines()) for end in attempt.ends)
    return victims_last([failure for failure in found if failure.exit_code])


def _failure(end: PodEnd, last_lines: list[bytes]) -> PodFailure:
    return PodFailure(
        pod=end.process.pod,
        role=end.process.role,
        rank=end.process.rank,
        container=end.process.container,
        exit_code=end.code,
        reason="Error",
        finished_at=end.finished_at,
        evidence=find_evidence(last_lines),
        last_lines=shown(last_lines),
    )
