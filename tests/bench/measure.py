"""Runs one follower of logs and measures it from outside.

Lines are recognized whatever stands before them: each names its pod, and a live line ends with the
time at which it was written.
"""

import contextlib
import fcntl
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from bench.server import Load

TESTS = Path(__file__).resolve().parents[1]
PIPE = 1 << 20  # bytes that the pipe to the reader may hold
GIVE_UP = 30.0  # seconds without a line
GIVE_UP_FIRST = 400.0  # seconds without the first one: live lines wait until all logs are open
SETTLE = 1.0  # seconds between the first live line of the last log and the window of measuring
YOUNG = 2000.0  # milliseconds: a line that is younger was written live
_POD = re.compile(rb"bench-worker-(\d+)")
_STAMP = len("1764741234.123456")


@dataclass(frozen=True)
class Goal:
    """When a run is over, and what is looked at meanwhile.

    Attributes:
        pods: whose logs are followed.
        lines: that come; the run is over after them.
        seconds: of live lines that are measured, from when each log has given one; 0 for old
            lines only.
        first: the time until each pod has given a line is measured.
    """

    pods: int
    lines: float = math.inf
    seconds: float = 0.0
    first: bool = False


@dataclass
class Result:
    """What one run cost.

    Attributes:
        finished: the goal was reached.
        pods: whose logs were followed.
        lines: that came; in a window of live lines, those in it.
        wall: seconds from the start of the process to the last line.
        first: seconds until a line of every pod had come, or 0 when one did not.
        cpu: seconds of the process, user and system; in a window of live lines, those in it.
        kernel: those of them that the kernel used, of the whole run.
        opening: those until the first line came; live lines may begin when all logs are open.
        memory: its peak, in MB.
        servers: CPU seconds of each server, by name, as `cpu`.
        window: seconds in which live lines were measured.
        delays: of live lines, in milliseconds, sorted.
        growth: MB between the peak at half of the lines and at the end.
        said: the end of what it wrote to stderr.
    """

    finished: bool = False
    pods: int = 0
    lines: int = 0
    wall: float = 0.0
    first: float = 0.0
    cpu: float = 0.0
    kernel: float = 0.0
    opening: float = 0.0
    memory: float = 0.0
    servers: dict[str, float] = field(default_factory=dict)
    window: float = 0.0
    delays: list[float] = field(default_factory=list)
    growth: float = 0.0
    said: str = ""

    def delay(self, share: float) -> float:
        """The delay in milliseconds that this share of the lines did not exceed."""
        return self.delays[min(len(self.delays) - 1, int(share * len(self.delays)))]


Servers = Callable[[], dict[str, float]]
"""Gives the CPU seconds that each server has used so far."""


def measure(command: Sequence[str], load: Load, first: bool = False) -> Result:
    """Start the scripted server, then `command`, in which `{}` is the kubeconfig."""
    with scripted_server(load) as kubeconfig:
        goal = Goal(load.pods, load.total, load.seconds, first=first)
        return follow([each.replace("{}", str(kubeconfig)) for each in command], goal)


@contextlib.contextmanager
def scripted_server(load: Load) -> Iterator[Path]:
    """Run the scripted server; gives its kubeconfig."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.server", name, json.dumps(msgspec.to_builtins(load))],
            env=environment(),
        )
        try:
            while not (folder / "kubeconfig").exists():
                time.sleep(0.05)
            yield folder / "kubeconfig"
        finally:
            server.kill()
            server.wait()


def follow(command: Sequence[str], goal: Goal, servers: Servers = dict) -> Result:
    """Run `command` until `goal` is reached, or no line comes any more."""
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, PIPE)
    with tempfile.TemporaryFile() as errors:
        before = servers()
        begun = time.monotonic()
        follower = subprocess.Popen(command, stdout=write, stderr=errors, env=environment())
        os.close(write)
        with open(read, "rb", buffering=0) as output:
            reading = _Reading(goal, follower.pid, begun, servers, before)
            reading.read(output.fileno())
            result = reading.result
            result.memory = peak(follower.pid)
            result.growth = result.memory - reading.half
            os.kill(follower.pid, signal.SIGKILL)
            _, _, usage = os.wait4(follower.pid, 0)
            follower.returncode = 0
        result.kernel = usage.ru_stime
        if not goal.seconds:
            result.cpu = usage.ru_utime + usage.ru_stime
        result.delays.sort()
        errors.seek(0)
        result.said = errors.read()[-2000:].decode(errors="replace")
        return result


class _Reading:
    """Reads the lines of one run."""

    def __init__(
        self, goal: Goal, pid: int, begun: float, servers: Servers, before: dict[str, float]
    ) -> None:
        self.goal = goal
        self.result = Result(pods=goal.pods)
        self.half = 0.0
        self._pid = pid
        self._begun = begun
        self._servers = servers
        self._before = before
        self._seen: set[bytes] = set()
        self._rest = b""
        self._window = math.inf
        self._lines_before = 0
        self._cpu_before = 0.0

    def read(self, fd: int) -> None:
        """Read until the goal is reached, or no line has come for a time."""
        goal, result = self.goal, self.result
        os.set_blocking(fd, False)
        last = self._begun
        lines = 0
        while True:
            patience = GIVE_UP if lines else GIVE_UP_FIRST
            if not select.select([fd], [], [], patience)[0]:
                return
            data = os.read(fd, PIPE)
            if not data:
                return
            last = time.monotonic()
            result.opening = result.opening or cpu_seconds(self._pid)
            lines += data.count(b"\n")
            result.lines = lines - self._lines_before
            result.wall = last - self._begun
            if not self.half and lines > goal.lines / 2:
                self.half = peak(self._pid)
            if goal.seconds or (goal.first and not result.first):
                self._look(data, last, lines)
            if lines >= goal.lines or last > self._window + goal.seconds:
                result.finished = True
                if goal.seconds:
                    result.cpu = cpu_seconds(self._pid) - self._cpu_before
                    result.window = last - self._window
                now = self._servers()
                result.servers = {name: now[name] - self._before[name] for name in now}
                return

    def _look(self, data: bytes, now: float, lines: int) -> None:
        """Look at each line: of which pod it is, and when it was written."""
        whole, _, self._rest = (self._rest + data).rpartition(b"\n")
        clock = time.time()
        measuring = now > self._window
        delays = self.result.delays
        for line in whole.split(b"\n") if whole else ():
            if self.goal.seconds:
                try:
                    delay = 1e3 * (clock - float(line[-_STAMP:]))
                except ValueError:
                    continue
                if measuring:
                    delays.append(delay)
                    continue
                if delay > YOUNG:
                    continue
            if not self.result.first and (found := _POD.search(line)):
                self._seen.add(found[1])
        if not self.result.first and len(self._seen) == self.goal.pods:
            self.result.first = now - self._begun
        if self.goal.seconds and self._window == math.inf and self.result.first:
            self._window = now + SETTLE
        elif self.goal.seconds and now > self._window and not self._lines_before:
            self._lines_before = lines
            self._cpu_before = cpu_seconds(self._pid)
            self._before = self._servers()


def cpu_seconds(pid: int) -> float:
    """Seconds of user and system time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid: int) -> float:
    """MB that the process had in memory at most, so far."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(found[0]) / 1024 if found else 0.0


def environment() -> dict[str, str]:
    """The environment of the follower and of the servers: their modules are found."""
    paths = [str(TESTS), str(TESTS.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
