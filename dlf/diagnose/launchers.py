"""Reads which process failed from the message of a launcher at the end of a log.

torchrun and accelerate write a block "Root Cause", Open MPI's mpirun (orterun, prterun), MPICH's
mpiexec, horovodrun and `paddle.distributed.launch` a few lines. What they name is the process that
they saw end first. That may be a victim: several end within the time between two looks.
"""

import re
import signal
from collections.abc import Sequence

import msgspec

_NOT_AVAILABLE = "<N/A>"
_SEARCHED_LINES = 500  # at the end of a log in which a launcher's message is looked for
_HINTS = ("Root Cause", "Process ", "process rank", "MPI_ABORT", "RANK ", "Container rank ")
_MESSAGE_LINES = 12  # of a launcher's message
_ROOT_CAUSE = re.compile(r"Root Cause(?: \(first observed failure\))?:$")
_FIELD = re.compile(r"(rank|exitcode|error_file|traceback|msg)\s*: (.*)")
_TORCH_RANK = re.compile(r"(\d+) \(local_rank: (\d+)\)")
_MPI_PROCESS = re.compile(r"Process name: +\[.*,(\d+)\]")
_MPI_SIGNAL = re.compile(r"noticed that process rank (\d+) with PID .* exited on signal (\d+)")
_MPI_ABORT = re.compile(r"MPI_ABORT was invoked on rank (\d+) in communicator")
_HYDRA = re.compile(r"=\s+RANK (\d+) PID \d+ RUNNING AT")
_HYDRA_END = re.compile(r"=\s+(?:KILLED BY SIGNAL: (\d+)|EXIT (?:CODE|STATUS): (\d+))")
_HOROVOD_PROCESS = re.compile(r"Process name: (\d+)$")
_EXIT_CODE = re.compile(r"\s*(?:Exit code:|Errorcode:|with errorcode) *(-?\d+)")
_PADDLE = re.compile(r"Container rank (-?\d+) status failed cmd .* code (-?\d+) log (\S+)")
_SPAWN = re.compile(r"-- Process (\d+) terminated with (?:the following error|signal (\w+))")


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """The process that a launcher names.

    Attributes:
        line: index of the line that names it.
        source: the launcher.
        error: the launcher's own words, "" when they only repeat that it failed.
        rank: global, or None.
        local_rank: among the launcher's processes, or None.
        exit_code: negative for a signal, None when unknown.
        error_file: where the process wrote its error, or "".
    """

    line: int
    source: str
    error: str = ""
    rank: int | None = None
    local_rank: int | None = None
    exit_code: int | None = None
    error_file: str = ""


def blame(lines: Sequence[str]) -> Blame | None:
    """The process that the last message of a launcher names; None without such a message.

    Args:
        lines: the end of a log; prefixes of processes are not cut off, launchers have none.
    """
    for index in range(len(lines) - 1, max(-1, len(lines) - _SEARCHED_LINES), -1):
        if not any(hint in lines[index] for hint in _HINTS):
            continue
        for reader in (_torchrun, _mpirun, _mpich, _horovodrun, _paddle, _spawn):
            if found := reader(lines, index):
                return found
    return None


def _torchrun(lines: Sequence[str], at: int) -> Blame | None:
    if not _ROOT_CAUSE.search(lines[at]):
        return None
    fields: dict[str, str] = {}
    for line in lines[at + 1 : at + _MESSAGE_LINES]:
        if found := _FIELD.search(line):
            fields.setdefault(found[1], found[2].strip())
    ranks = _TORCH_RANK.match(fields.get("rank", ""))
    code = re.match(r"-?\d+", fields.get("exitcode", ""))
    words = fields.get("traceback", fields.get("msg", ""))
    file = fields.get("error_file", "")
    return Blame(
        line=at,
        source="torchrun",
        error=words if words.startswith("Signal ") else "",
        rank=int(ranks[1]) if ranks else None,
        local_rank=int(ranks[2]) if ranks else None,
        exit_code=int(code[0]) if code else None,
        error_file="" if file == _NOT_AVAILABLE else file,
    )


def _mpirun(lines: Sequence[str], at: int) -> Blame | None:
    if found := _MPI_SIGNAL.search(lines[at]):
        rank, number = int(found[1]), int(found[2])
        return Blame(line=at, source="mpirun", rank=rank, exit_code=-number, error=lines[at])
    if found := _MPI_PROCESS.search(lines[at]):
        return Blame(line=at, source="mpirun", rank=int(found[1]), exit_code=_code(lines, at))
    if found := _MPI_ABORT.search(lines[at]):
        rank, code = int(found[1]), _code(lines, at)
        return Blame(line=at, source="mpirun", rank=rank, exit_code=code, error=lines[at])
    return None


def _mpich(lines: Sequence[str], at: int) -> Blame | None:
    found = _HYDRA.match(lines[at])
    # It names every process that ended: the first is the one that ended first.
    if not found or any(_HYDRA.match(line) for line in lines[:at]):
        return None
    rank = int(found[1])
    for line in lines[at + 1 : at + _MESSAGE_LINES]:
        if end := _HYDRA_END.match(line):
            code = -int(end[1]) if end[1] else int(end[2])
            words = f"rank {rank}: ended by {signal_name(-code)}" if code < 0 else ""
            return Blame(line=at, source="mpirun", rank=rank, exit_code=code, error=words)
    return Blame(line=at, source="mpirun", rank=rank)


def _horovodrun(lines: Sequence[str], at: int) -> Blame | None:
    found = _HOROVOD_PROCESS.match(lines[at])
    if not found:
        return None
    return Blame(line=at, source="horovodrun", rank=int(found[1]), exit_code=_code(lines, at))


def _paddle(lines: Sequence[str], at: int) -> Blame | None:
    found = _PADDLE.search(lines[at])
    if not found:
        return None
    rank, code = int(found[1]), int(found[2])
    return Blame(
        line=at,
        source="paddle.distributed.launch",
        error=f"the process was ended by {signal_name(-code)}" if code < 0 else "",
        local_rank=rank if rank >= 0 else None,
        exit_code=code,
        error_file=found[3] if found[3] != "None" else "",
    )


def _spawn(lines: Sequence[str], at: int) -> Blame | None:
    found = _SPAWN.search(lines[at])
    if not found:
        return None
    words = lines[at].lstrip("- ") if found[2] else ""
    return Blame(line=at, source="torch.multiprocessing", local_rank=int(found[1]), error=words)


def _code(lines: Sequence[str], at: int) -> int | None:
    """The exit code that stands below the name of a process."""
    following = (_EXIT_CODE.match(line) for line in lines[at : at + _MESSAGE_LINES])
    return next((int(found[1]) for found in following if found), None)


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `signal 99` for a number that has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
