"""The outcome of a job that was followed: its exit code, the first cause, what else to know."""

import msgspec

from dlf.diagnose.failures import failures
from dlf.errors import ExitCode
from dlf.job.context import JobContext
from dlf.job.ending import Cause, Ending
from dlf.job.pods import Pods
from dlf.job.remove import operator_cleans_up
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import Job
from dlf.outcome.outcome import Outcome
from dlf.outcome.report import describe

LISTED_NAMES = 5
"""Names in one note; of more, only the number is told."""

_GONE = "the job object was deleted before its result was seen; all its pods had succeeded"


def summarize(
    context: JobContext, ending: Ending, job: Job, pods: Pods, logs: Multiplexer
) -> Outcome:
    """The outcome.

    Args:
        context: of the job; with `--strict`, a pod that failed in a job that succeeded makes the
            exit code 1.
        ending: how following ended.
        job: as it is now.
        pods: as they are now.
        logs: knows the last lines of each container.
    """
    rule, state = ending.rule, ending.state
    found = failures(pods, pods.identify, logs.last_lines)
    outcome = Outcome(
        code=rule.exit_code,
        job=f"{context.kind.title} {job.metadata.name}",
        phase=rule.phrase(context.lifecycle),
        operator=": ".join(filter(None, (state.reason, state.message))),
        failures=found,
    )
    if ending.cause is Cause.FAILED:
        found = found or failures(pods, pods.identify, logs.last_lines, restarted=True)
        return msgspec.structs.replace(outcome, failures=found)
    if rule.exit_code is not ExitCode.SUCCEEDED:
        return msgspec.structs.replace(outcome, operator="", reason=ending.detail)
    found = tuple(failure for failure in found if not failure.stopped)
    warnings = [_GONE] if ending.cause is Cause.DELETED_AFTER_SUCCESS else []
    warnings += [f"although the job succeeded, {describe(each)}" for each in found[:LISTED_NAMES]]
    still = [pod.metadata.name for pod in pods.running() if not pod.metadata.deletion_timestamp]
    led = ending.cause is Cause.LEADER_SUCCEEDED
    if still and (led or not operator_cleans_up(context.kind, job)):
        warnings.append(f"still running although the job has ended: {_listed(still)}")
    if context.lifecycle.strict and found:
        return msgspec.structs.replace(
            outcome,
            code=ExitCode.FAILED,
            phase="succeeded, but not all its pods",
            failures=found,
            warnings=tuple(warnings),
        )
    return msgspec.structs.replace(outcome, failures=(), warnings=tuple(warnings))


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


def _listed(names: list[str]) -> str:
    more = len(names) - LISTED_NAMES
    return ", ".join(names[:LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")
