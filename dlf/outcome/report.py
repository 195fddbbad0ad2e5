"""Telling an outcome: the last block on stderr, one line for Argo, JSON for machines."""

import signal
from typing import Any

import msgspec

from dlf.errors import DlfError, ExitCode
from dlf.logs.readable import readable, shorten
from dlf.outcome.outcome import Outcome, PodFailure

_TERMINATION_MESSAGE_BYTES = 4096  # that kubelet keeps of /dev/termination-log
_MEANINGS = {
    126: "command found but not executable",
    127: "command not found",
    134: "aborted: an assertion or a runtime error in native code",
    137: "killed: out of memory, or stopped from outside",
    139: "segmentation fault in native code",
    143: "terminated by SIGTERM: stopped from outside",
}
# Launchers in Python pass on -9 as 256 - 9: paddle.distributed.launch, deepspeed, torch's old one.
_PASSED_ON = {
    256 - number: f"its launcher's process was ended by {number.name}"
    for number in (
        signal.SIGKILL,
        signal.SIGABRT,
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGTERM,
    )
}


_SIGNALS = {number + 128: number.name for number in signal.Signals}
_REASONS = {
    "OOMKilled": "out of memory: the container reached its memory limit",
    "Evicted": "its node ran out of a resource",
    "NodeLost": "its node does not answer any more",
    "DeadlineExceeded": "it was active for longer than its activeDeadlineSeconds",
}
_MAX_LISTED_FAILURES = 8  # one line each
_MAX_ERROR_CHARACTERS = 300  # of the error in the first line
_MAX_LINE_CHARACTERS = 512  # of a line of a log


def meaning(failure: PodFailure) -> str:
    """What reason and exit code say, in words; "" when they say nothing beyond themselves."""
    code = failure.exit_code
    if failure.reason in _REASONS:
        return _REASONS[failure.reason]
    if failure.stopped and code in {137, 143}:
        return "stopped, as it was deleted"
    if code is None:
        return ""
    if words := _MEANINGS.get(code) or _PASSED_ON.get(code):
        return words
    return f"ended by {_SIGNALS[code]}" if code in _SIGNALS else ""


def headline(outcome: Outcome) -> str:
    """One line: the result and its first cause."""
    text = f"{outcome.job} {outcome.phase}".strip()
    if outcome.reason:
        return f"{text}: {outcome.reason}" if text else outcome.reason
    if outcome.failures:
        others = len(outcome.failures) - 1
        more = f" (and {others} more)" if others else ""
        error = error_words(outcome.failures[0])
        return f"{text}: {describe(outcome.failures[0])}{more}" + (f"; {error}" if error else "")
    return f"{text}: {outcome.operator}" if outcome.operator and outcome.code else text


def describe(failure: PodFailure) -> str:
    """`pod NAME (worker, rank 1): exit code 7`, with what the code means and where it ran."""
    rank = "" if failure.rank is None else f"rank {failure.rank}"
    place = ", ".join(filter(None, (failure.role, rank)))
    who = f"pod {failure.pod}" + (f" ({place})" if place else "")
    what = [failure.reason] if failure.reason not in {"", "Error"} else []
    if failure.exit_code is not None:
        what.append(f"exit code {failure.exit_code}")
    what += [meaning(failure), failure.message.strip().partition("\n")[0]]
    where = f", on node {failure.node}" if failure.node else ""
    return f"{who}: {', '.join(filter(None, what)) or 'failed'}{where}"


def error_words(failure: PodFailure) -> str:
    """`process rank 5: ValueError: no data`, or "" when the log tells no error."""
    evidence = failure.evidence
    if not evidence.error:
        return ""
    return ": ".join(
        filter(None, (_process(failure), shorten(evidence.error, _MAX_ERROR_CHARACTERS)))
    )


def block(outcome: Outcome) -> list[str]:
    """The lines for stderr, most important first; log lines are shown with bad bytes replaced.

    Each pod that failed later gets one line only: their logs are full of what the first
    failure did to them.
    """
    lines = [headline(outcome)]
    later = outcome.failures
    if later and not outcome.reason:
        lines += _traceback(later[0]) + _last_lines(later[0])
        later = later[1:]
    named = [failure for failure in later if not failure.stopped][:_MAX_LISTED_FAILURES]
    for failure in named:
        lines.append(f"  {'also' if outcome.reason else 'then'} {describe(failure)}")
    stopped = sum(failure.stopped for failure in later)
    if more := len(later) - len(named) - stopped:
        lines.append(f"  then {more} more pods failed")
    if stopped:
        lines.append(f"  then {stopped} pods were stopped")
    if outcome.operator and outcome.code and (outcome.reason or outcome.failures):
        lines.append(f"  the operator says: {outcome.operator}")
    lines += [f"  note: {warning}" for warning in outcome.warnings]
    return lines + ([f"  {timeline}"] if (timeline := outcome.timeline.words()) else [])


def of_error(error: DlfError) -> Outcome:
    """The outcome of a run that did not get as far as a result, for `--report` and for Argo."""
    reason = error.message + (f"; {error.hint}" if error.hint else "")
    return Outcome(code=error.exit_code, job="", phase="", reason=reason)


def termination_message(outcome: Outcome) -> bytes:
    """What Argo shows as the message of the step."""
    cut = headline(outcome).encode()[:_TERMINATION_MESSAGE_BYTES]
    return cut.decode(errors="ignore").encode()


def to_json(outcome: Outcome) -> bytes:
    """The outcome for `--report`: indented JSON, ending in a newline."""
    failures: list[dict[str, Any]] = []
    for failure in outcome.failures:
        row = msgspec.to_builtins(msgspec.structs.replace(failure, last_lines=()))
        row["last_lines"] = [readable(line) for line in failure.last_lines]
        failures.append(row | {"meaning": meaning(failure)})
    body = {
        "result": ExitCode(outcome.code).name.lower(),
        "exit_code": int(outcome.code),
        "job": outcome.job,
        "phase": outcome.phase,
        "reason": outcome.reason,
        "operator": outcome.operator,
        "failures": failures,
        "warnings": outcome.warnings,
        "timeline": outcome.timeline,
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _process(failure: PodFailure) -> str:
    """`process rank 5`, or "": which of the container's processes failed, if that is known."""
    evidence = failure.evidence
    if evidence.process_rank is not None:
        return f"process rank {evidence.process_rank}"
    return "" if evidence.local_rank is None else f"process with local rank {evidence.local_rank}"


def _traceback(failure: PodFailure) -> list[str]:
    """The traceback, unless it is the end of the last lines, which are shown anyway."""
    evidence = failure.evidence
    lines: list[str] = []
    text = tuple(line for line in evidence.traceback if line)
    last = [line for line in map(readable, failure.last_lines) if line]
    if text and text != tuple(last[-len(text) :]):
        whose = f"{failure.pod}, {_process(failure)}".removesuffix(", ")
        lines += [f"  traceback of {whose}:"]
        lines += [f"  | {shorten(line, _MAX_LINE_CHARACTERS)}" for line in evidence.traceback]
    if evidence.error_file:
        lines.append(f"  the process wrote its error to {evidence.error_file}")
    return lines


def _last_lines(failure: PodFailure) -> list[str]:
    if not failure.last_lines:
        return []
    shown = [f"  | {readable(line, _MAX_LINE_CHARACTERS)}" for line in failure.last_lines]
    return [f"  last lines of {failure.pod}:", *shown]
