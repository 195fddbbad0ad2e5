"""Runs one follower against one load and measures it from outside."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from bench.server import Load

TESTS = Path(__file__).resolve().parents[1]
PIPE = 1 << 20  # bytes that the pipe to the reader may hold
GIVE_UP = 20.0  # seconds without a line
GIVE_UP_FIRST = 400.0  # seconds without the first one: live lines wait until all logs are open


class Result(msgspec.Struct, frozen=True):
    """What one run cost.

    Attributes:
        finished: all lines came.
        pods: whose logs were followed.
        lines: that came.
        wall: seconds from the start of the process to the last line.
        first: seconds until a line of every pod had come, or 0 when one did not.
        cpu: seconds of the process, user and system.
        opening: those of them until the first line came; live lines come when all logs are open.
        memory: its peak, in MB.
        delays: of live lines, in milliseconds, sorted.
        growth: MB between the peak at half of the lines and at the end.
    """

    finished: bool
    pods: int
    lines: int
    wall: float
    first: float
    cpu: float
    opening: float
    memory: float
    delays: list[float]
    growth: float = 0.0

    def delay(self, share: float) -> float:
        """The delay in milliseconds that this share of the lines did not exceed."""
        return self.delays[min(len(self.delays) - 1, int(share * len(self.delays)))]


def measure(command: Sequence[str], load: Load) -> Result:
    """Start a load generator, then `command`, in which `{}` is the kubeconfig."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.server", name, json.dumps(msgspec.to_builtins(load))],
            env=_environment(),
        )
        stack.callback(server.wait)
        stack.callback(server.kill)
        while not (folder / "kubeconfig").exists():
            time.sleep(0.05)
        read, write = os.pipe()
        fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, PIPE)
        begun = time.monotonic()
        follower = subprocess.Popen(
            [each.format(folder / "kubeconfig") for each in command],
            stdout=write,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        os.close(write)
        with open(read, "rb", buffering=0) as output:
            lines, last, first, opening, delays, half = _read(output.fileno(), load, follower.pid)
            peak = _peak(follower.pid)
            os.kill(follower.pid, signal.SIGKILL)
            _, _, usage = os.wait4(follower.pid, 0)
            follower.returncode = 0
        return Result(
            finished=lines >= load.total,
            pods=load.pods,
            lines=lines,
            wall=last - begun,
            first=first - begun if first else 0.0,
            cpu=usage.ru_utime + usage.ru_stime,
            opening=opening,
            memory=peak,
            delays=sorted(delays),
            growth=peak - half,
        )


def _read(fd: int, load: Load, pid: int) -> tuple[int, float, float, float, list[float], float]:
    """Read until all lines have come, or none for a time."""
    lines, half, first, opening = 0, 0.0, 0.0, 0.0
    last = time.monotonic()
    seen: set[bytes] = set()
    delays: list[float] = []
    rest = b""
    os.set_blocking(fd, False)
    while lines < load.total and time.monotonic() - last < (GIVE_UP if lines else GIVE_UP_FIRST):
        try:
            data = os.read(fd, PIPE)
        except BlockingIOError:
            time.sleep(0.0002)
            continue
        if not data:
            break
        last = time.monotonic()
        opening = opening or _cpu(pid)
        lines += data.count(b"\n")
        if not half and lines > load.total / 2:
            half = _peak(pid)
        if load.rate or not first:
            whole, _, rest = (rest + data).rpartition(b"\n")
            now = time.time_ns()
            for line in whole.split(b"\n"):
                pod, _, message = line.partition(b" ")
                if load.rate:
                    delays.append((now - int(message[:19])) / 1e6)
                elif not first:
                    seen.add(pod)
                    first = last if len(seen) == load.pods else 0.0
    return lines, last, first, opening, delays, half


def _cpu(pid: int) -> float:
    """Seconds of user and system time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    """MB that the process had in memory at most, so far."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found[0]) / 1024 if found else 0.0


def _environment() -> dict[str, str]:
    paths = [str(TESTS), str(TESTS.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
