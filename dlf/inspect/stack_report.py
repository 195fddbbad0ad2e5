"""Where every rank stands, side by side: equal ones once, the odd one first. Pure.

A hang of a distributed job is most often one rank that is elsewhere: the others wait for it in a
collective, all at the same place.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

_STATES = {
    "R": "running",
    "S": "sleeping",
    "D": "in an uninterruptible system call",
    "T": "stopped",
    "t": "being traced",
    "I": "idle",
}
_MAX_COMMAND_CHARACTERS = 200  # mpirun's daemons have command lines of a thousand
_TICKS_PER_SAMPLE = 50  # in half a second, at 100 ticks a second: Linux's USER_HZ


class ProcessState(msgspec.Struct, frozen=True, kw_only=True):
    """One process, as `dlf stacks --here` reports it.

    Attributes:
        state: of the kernel, one letter of proc(5).
        wchan: the kernel function that it waits in, or "0".
        ticks: CPU time since half a second before.
        rank: its number in the pod, or "".
        stack: of `faulthandler`, or "".
    """

    pid: int
    command: str
    state: str
    wchan: str = ""
    ticks: int = 0
    rank: str = ""
    stack: str = ""


def report(pods: Mapping[str, Sequence[ProcessState]]) -> list[str]:
    """Lines for people; the groups with the fewest pods come first.

    Args:
        pods: pod to its processes, in the order of ranks.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for pod, processes in pods.items():
        groups.setdefault(tuple(map(_place, processes)), []).append(pod)
    lines: list[str] = []
    for _, names in sorted(groups.items(), key=lambda group: len(group[1])):
        same = f" ({len(names)} pods are alike)" if len(names) > 1 else ""
        lines.append(f"{', '.join(names)}{same}:")
        for process in pods[names[0]]:
            lines.append(f"  {describe(process)}")
            lines += [f"    {line}" for line in process.stack.strip().splitlines()]
        if not pods[names[0]]:
            lines.append("  no process but dlf's own")
    return lines


def describe(process: ProcessState) -> str:
    """One line."""
    number = f"[{process.rank}] " if process.rank else ""
    state = _STATES.get(process.state, process.state)
    where = f" in {process.wchan}" if process.wchan not in {"", "0"} else ""
    share = min(100 * process.ticks // _TICKS_PER_SAMPLE, 100 * 999)
    command = process.command
    if len(command) > _MAX_COMMAND_CHARACTERS:
        command = f"{command[:_MAX_COMMAND_CHARACTERS]}..."
    return f"{number}{command} (pid {process.pid}): {state}{where}, {share}% CPU"


def _place(process: ProcessState) -> str:
    """What makes two processes stand at the same place, whatever their numbers are."""
    stack = re.sub(r"0x[0-9a-f]+", "0x", process.stack)
    busy = "" if stack else f"{process.state} {process.wchan}"
    command = re.sub(r"\d+", "N", process.command)
    return f"{process.rank} {command} {busy}\n{stack}"
