"""Telling an outcome: the last block on stderr, one line for Argo, JSON for machines."""

import signal
from typing import Any

import msgspec

from dlf.errors import ExitCode
from dlf.job.outcome import Outcome, PodFailure

_TERMINATION_MESSAGE_LIMIT = 4096  # bytes that kubelet keeps of /dev/termination-log
_MEANINGS = {
    126: "command found but not executable",
    127: "command not found",
    134: "aborted: an assertion or a runtime error in native code",
    137: "killed: out of memory, or stopped from outside",
    139: "segmentation fault in native code",
    143: "terminated by SIGTERM: stopped from outside",
}


def meaning(failure: PodFailure) -> str:
    """What an exit code says, in words; "" when it says nothing beyond its number."""
    code = failure.exit_code
    if failure.reason == "OOMKilled":
        return "out of memory: the container reached its memory limit"
    if code is None:
        return ""
    if code not in _MEANINGS and 128 < code <= 128 + signal.NSIG:
        return f"ended by {signal.Signals(code - 128).name}"
    return _MEANINGS.get(code, "")


def headline(outcome: Outcome) -> str:
    """One line: the result and its first cause."""
    text = f"{outcome.job} {outcome.phase}"
    if outcome.failures:
        first = describe(outcome.failures[0])
        others = len(outcome.failures) - 1
        text += f": {first}" + (f" (and {others} more)" if others else "")
    elif outcome.reason:
        text += f": {outcome.reason}"
    return text


def describe(failure: PodFailure) -> str:
    """`pod NAME (rank 1): exit code 7`, with what the code means and where it ran."""
    who = f"pod {failure.pod}" + ("" if failure.rank is None else f" (rank {failure.rank})")
    what = [failure.reason] if failure.reason not in {"", "Error"} else []
    if failure.exit_code is not None:
        what.append(f"exit code {failure.exit_code}")
    what += [meaning(failure), failure.message.strip().partition("\n")[0]]
    where = f", on node {failure.node}" if failure.node else ""
    return f"{who}: {', '.join(filter(None, what)) or 'failed'}{where}"


def block(outcome: Outcome) -> list[str]:
    """The lines for stderr, most important first; log lines are shown with bad bytes replaced."""
    lines = [headline(outcome)]
    for failure in outcome.failures[:1]:
        lines += [f"  last lines of {failure.pod}:"] if failure.last_lines else []
        lines += [f"  | {line.decode(errors='replace')}" for line in failure.last_lines]
    lines += [f"  then {describe(failure)}" for failure in outcome.failures[1:8]]
    if len(outcome.failures) > 8:
        lines.append(f"  then {len(outcome.failures) - 8} more pods")
    if outcome.failures and outcome.reason:
        lines.append(f"  the operator says: {outcome.reason}")
    return lines + [f"  note: {warning}" for warning in outcome.warnings]


def termination_message(outcome: Outcome) -> bytes:
    """What Argo shows as the message of the step."""
    return headline(outcome).encode()[:_TERMINATION_MESSAGE_LIMIT]


def to_json(outcome: Outcome) -> bytes:
    """The outcome for `--report`: indented JSON, ending in a newline."""
    failures: list[dict[str, Any]] = []
    for failure in outcome.failures:
        row = msgspec.to_builtins(msgspec.structs.replace(failure, last_lines=()))
        row["last_lines"] = [line.decode(errors="replace") for line in failure.last_lines]
        failures.append(row | {"meaning": meaning(failure)})
    body = {
        "result": ExitCode(outcome.code).name.lower(),
        "exit_code": int(outcome.code),
        "job": outcome.job,
        "phase": outcome.phase,
        "reason": outcome.reason,
        "failures": failures,
        "warnings": outcome.warnings,
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"
