"""dlf with a real framework: started, waited for, and read."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dlf.errors import ExitCode

from .cases import Case
from .environments import Environment

PROJECT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults"


class Failure(msgspec.Struct):
    """What the report says of the pod that failed first."""

    pod: str
    rank: int | None = None
    exit_code: int | None = None


class Report(msgspec.Struct):
    """What these tests read of `--report`."""

    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run of dlf that has ended."""

    code: int
    output: str
    errors: str
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def ranks(self) -> dict[int, str]:
        """Which pod (`worker-0`) has which rank; a rank that two claim is in the error."""
        found: dict[int, str] = {}
        for pod, rank, _ in self._greetings():
            assert found.setdefault(rank, pod) == pod, f"rank {rank} is in {pod}, too"
        return found

    @property
    def sizes(self) -> set[int]:
        """The world sizes that the ranks see."""
        return {size for _, _, size in self._greetings()}

    @property
    def losses(self) -> list[float]:
        """By epoch, of all ranks together."""
        return [float(loss) for loss in re.findall(r"epoch +\d+/\d+  loss ([\d.]+)", self.output)]

    @property
    def done(self) -> int:
        """Ranks that found the line, with the parameters of rank 0."""
        return len(re.findall(r"rank \d+: done, parameters equal rank 0's", self.output))

    def version(self, library: str) -> str:
        """What the example says that it trains with."""
        found = re.search(rf"training with {library} ([^\s,;]+)", self.output)
        assert found, self.output + self.errors
        return found[1]

    @property
    def first_failure(self) -> Failure:
        """Of the report; the pod's name without the job's."""
        first = self.failures[0]
        return Failure(short(first.pod), first.rank, first.exit_code)

    def first_words(self) -> dict[str, str]:
        """The first line of each pod."""
        words: dict[str, str] = {}
        for line in self.output.splitlines():
            pod, _, message = line.partition(" ")
            words.setdefault(short(pod), message)
        return words

    def _greetings(self) -> list[tuple[str, int, int]]:
        said = re.findall(r"^(\S+) .*?rank (\d+) of (\d+): \d+ samples", self.output, re.MULTILINE)
        return [(short(pod), int(rank), int(size)) for pod, rank, size in said]


def short(pod: str) -> str:
    """`worker-0` of `pytorchjob-digits-1f2e-worker-0`, `launcher` of `mpijob-1f2e-launcher`."""
    return re.sub(r"^.*-[0-9a-f]{4}-", "", pod)


def assert_trained(case: Case, run: Run) -> None:
    """Every rank is there once, in its pod, and sees all others; the loss falls."""
    said = run.output + run.errors
    assert run.code == ExitCode.SUCCEEDED, said
    assert run.sizes == {case.size}, said
    assert sorted(run.ranks) == list(range(case.size)), said
    assert set(run.ranks.values()) == set(case.pods), said
    if case.ordered:
        assert run.ranks == dict(enumerate(case.pods)), said
    assert run.losses[-1] < 0.01 * run.losses[0], said
    assert run.done == case.size, said


def expected(case: Case, run: Run, exit_code: int) -> Failure:
    """What a report has to say when rank 1 ends with an exit code."""
    pod = run.ranks[1]
    return Failure(pod, None if pod == "launcher" else case.pods.index(pod), exit_code)


def locally(case: Case, report: Path, fault: str = "") -> Run:
    """Run a case on this machine; whatever goes wrong, it ends."""
    words = [case.framework, "--runtime", "local", *case.flags, "--command", case.command]
    return run([*words, *faulty(fault)], case.environment, report)


def faulty(fault: str) -> list[str]:
    """The flags that make one rank fail: `kill:1` or `raise:1`."""
    variables = {
        "PYTHONPATH": FAULTS,
        "FAULT": fault,
        "FAULT_EXAMPLES": PROJECT / "examples",
    }
    return [f"--env={name}={value}" for name, value in variables.items()] if fault else []


def run(
    words: Sequence[str], environment: Environment, report: Path, machine: Sequence[str] = ()
) -> Run:
    """Run dlf where `python3` is an environment's and `examples` the project's.

    Args:
        words: of dlf's command line.
        environment: the framework.
        report: where the report goes; the folder is dlf's current one.
        machine: what to write before the command, to run it on another kind of machine.
    """
    (report.parent / "examples").symlink_to(PROJECT / "examples")
    path = f"{environment.path}:{os.environ['PATH']}"
    began = time.monotonic()
    ended = subprocess.run(
        [*machine, sys.executable, "-m", "dlf", *words, "--timeout", "5m", "--report", str(report)],
        cwd=report.parent,  # where an example may leave files
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    return Run(ended.returncode, ended.stdout, ended.stderr, read_report(report), seconds)


def read_report(report: Path) -> tuple[Failure, ...]:
    """The failures in the file of `--report`, the first cause first."""
    return msgspec.json.decode(report.read_bytes(), type=Report).failures
