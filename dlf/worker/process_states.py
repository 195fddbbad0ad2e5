"""The processes of this container: kernel state, CPU time, and the stacks of Python processes.

Everything comes from /proc. A Python stack comes from `faulthandler`, in processes that registered
it (see `stack_hook`). The signal goes only to a process that catches it: its default kills.
"""

import os
import re
import shutil
import subprocess
import time
from typing import Any

from dlf.worker.stack_hook import FILE_PREFIX, SIGNAL

_OURS = re.compile(r"(?:\S*/)?(?:ssh|pdsh) |.* worker ", re.DOTALL)
"""What dlf is called as in a container; in the command of `--remote` it is also `ssh`."""
_SAMPLE_SECONDS = 0.5  # between the two readings of the CPU time
_STACK_SECONDS = 2.0  # that a process gets to write its stack
_POLL_SECONDS = 0.02
_PY_SPY_SECONDS = 10.0
_MAX_STACK_BYTES = 64 << 10


def process_states(own_pid: int) -> list[dict[str, Any]]:
    """Every process but this one and dlf's workers, as fields of `ProcessState`.

    Args:
        own_pid: of this process, which is left out.
    """
    program = _link(own_pid, "exe")
    numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    before = {pid: stat for pid in numbers if (stat := _stat(pid)) and stat[0] != "Z"}
    time.sleep(_SAMPLE_SECONDS)
    states = []
    for pid, (_, ticks) in sorted(before.items()):
        now = _stat(pid)
        command = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")
        is_ours = bool(_OURS.match(command)) and _link(pid, "exe") == program
        if pid == own_pid or now is None or is_ours or not command:
            continue
        states.append(
            {
                "pid": pid,
                "command": command.strip(),
                "state": now[0],
                "wchan": read(f"/proc/{pid}/wchan").decode(errors="replace"),
                "ticks": now[1] - ticks,
                "rank": _rank(pid),
                "stack": python_stack(pid) or _py_spy(pid, command),
            }
        )
    return states


def python_stack(pid: int) -> str:
    """The stack that `faulthandler` dumps in this process; "" when it is not registered there."""
    if not catches(read(f"/proc/{pid}/status").decode(errors="replace"), SIGNAL):
        return ""
    path = _stack_file(pid)
    if not path:
        return ""
    try:
        with open(path, "rb") as file:  # what it has written can be read when it has ended, too
            begin = file.seek(0, os.SEEK_END)
            os.kill(pid, SIGNAL)
            deadline = time.monotonic() + _STACK_SECONDS
            size, last = begin, -1
            while time.monotonic() < deadline and not (size > begin and size == last):
                last = size
                time.sleep(_POLL_SECONDS)
                size = file.seek(0, os.SEEK_END)
            file.seek(begin)
            return file.read(_MAX_STACK_BYTES).decode(errors="replace")
    except OSError:  # it has ended
        return ""


def _py_spy(pid: int, command: str) -> str:
    """The stack by the image's own py-spy; "" when there is none, or it is not permitted.

    It needs CAP_SYS_PTRACE, which containers do not have unless they were given it.
    """
    path = ""
    for line in read(f"/proc/{pid}/environ").split(b"\0"):
        if line.startswith(b"PATH="):
            path = os.fsdecode(line[len(b"PATH=") :])
    program = shutil.which("py-spy", path=path) if "python" in command else None
    if not program:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - a program of the image, by its PATH
            [program, "dump", "--pid", str(pid)],
            capture_output=True,
            timeout=_PY_SPY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout[:_MAX_STACK_BYTES].decode(errors="replace")


def catches(status: str, number: int) -> bool:
    """Whether a process catches a signal, by the text of its /proc/PID/status."""
    for line in status.splitlines():
        name, _, mask = line.partition(":")
        if name == "SigCgt":
            return bool(int(mask.strip(), 16) >> (number - 1) & 1)
    return False


def read(path: str) -> bytes:
    """A file of /proc; b"" when the process has ended, or belongs to another user."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _stat(pid: int) -> tuple[str, int] | None:
    """State, and CPU time in clock ticks."""
    # pid (name) state ppid ... utime stime; the name may hold anything
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[11]) + int(fields[12])) if len(fields) > 12 else None


def _rank(pid: int) -> str:
    """The process's number in its pod, from its environment, or ""."""
    for line in read(f"/proc/{pid}/environ").split(b"\0"):
        name, _, value = line.partition(b"=")
        if name in {b"PROCESS_INDEX", b"LOCAL_RANK", b"OMPI_COMM_WORLD_LOCAL_RANK"}:
            return value.decode(errors="replace")
    return ""


def _stack_file(pid: int) -> str:
    """The file that a process writes its stacks to; a fork has its parent's."""
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return ""
    for descriptor in descriptors:
        target = _link(pid, f"fd/{descriptor}")
        if target.rpartition("/")[2].startswith(FILE_PREFIX):
            return f"/proc/{pid}/fd/{descriptor}"
    return ""


def _link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""
