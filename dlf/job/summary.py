"""The outcome of a job that was followed: its exit code, the first cause, what else to know."""

import datetime
from collections.abc import Collection, Mapping

import msgspec

from dlf.diagnose.failures import failures
from dlf.diagnose.pod_state import condition, disruption
from dlf.errors import ExitCode
from dlf.job.ending import Cause, Ending
from dlf.job.job_context import JobContext
from dlf.job.job_pods import Pods
from dlf.job.remove import operator_cleans_up
from dlf.job.silent_ranks import silent_ranks
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import Job, Pod
from dlf.outcome.outcome import Outcome, PodFailure
from dlf.outcome.report import describe
from dlf.outcome.timeline import timeline

LISTED_NAMES = 5
"""Names in one note; of more, only the number is given."""

_RESULT_UNSEEN = "the job object was deleted before its result was seen; all its pods had succeeded"


def summarize(
    context: JobContext,
    ending: Ending,
    job: Job,
    pods: Pods,
    logs: Multiplexer,
    pulled: Mapping[str, Collection[datetime.datetime]],
) -> Outcome:
    """The outcome.

    Args:
        context: of the job; with `--strict`, a pod that failed in a job that succeeded makes the
            exit code 1.
        ending: how following ended.
        job: as it is now.
        pods: as they are now.
        logs: knows the last lines of each container.
        pulled: uid of a pod to when images of it were there.
    """
    rule, state = ending.rule, ending.state
    found = _failures(pods, logs)
    outcome = Outcome(
        code=rule.exit_code,
        job=f"{context.kind.title} {job.metadata.name}",
        phase=rule.phrase(context.lifecycle),
        operator=": ".join(filter(None, (state.reason, state.message))),
        failures=found,
        timeline=timeline(job, pods, pulled),
    )
    before = tuple(map(_describe_disruption, pods.disrupted[-LISTED_NAMES:]))
    if ending.cause in {Cause.FAILED, Cause.TRAINING_FAILED}:
        found = found or _failures(pods, logs, restarted=True)
        notes = (ending.detail,) if ending.detail else ()
        return msgspec.structs.replace(outcome, failures=found, warnings=(*before, *notes))
    if ending.cause is Cause.HUNG:
        found = (*found, *silent_ranks(pods, logs, "silent"))
        return msgspec.structs.replace(outcome, operator="", failures=found, warnings=before)
    if rule.exit_code is not ExitCode.SUCCEEDED:
        return msgspec.structs.replace(outcome, operator="", reason=ending.detail, warnings=before)
    found = tuple(failure for failure in found if not failure.stopped)
    warnings = [_RESULT_UNSEEN] if ending.cause is Cause.DELETED_AFTER_SUCCESS else []
    warnings += [ending.detail] if ending.cause is Cause.TRAINING_SUCCEEDED else []
    warnings += [f"although the job succeeded, {describe(each)}" for each in found[:LISTED_NAMES]]
    still = [pod.metadata.name for pod in pods.running() if not pod.metadata.deletion_timestamp]
    by_leader = ending.cause is Cause.LEADER_SUCCEEDED
    ended = ending.cause is not Cause.TRAINING_SUCCEEDED
    if still and ended and (by_leader or not operator_cleans_up(context.kind, job)):
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


def _failures(pods: Pods, logs: Multiplexer, *, restarted: bool = False) -> tuple[PodFailure, ...]:
    return failures(
        pods,
        pods.identify,
        pods.statuses,
        logs.last_lines,
        seen=pods.seen_failing,
        restarted=restarted,
    )


def _describe_disruption(pod: Pod) -> str:
    """A pod that the cluster took away, and that was created again."""
    mark = condition(pod, "DisruptionTarget")
    since = f" at {mark.last_transition_time}" if mark and mark.last_transition_time else ""
    name = pod.metadata.name
    return f"before that, the cluster took pod {name} away{since}: {disruption(pod)}"


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
