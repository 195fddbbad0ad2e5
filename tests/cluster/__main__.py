"""Keep one cluster for trials by hand.

``python -m tests.cluster build`` builds every program, ``up`` starts a cluster in the background
and prints its kubeconfig, ``down`` ends it, ``run`` does both in the foreground until Ctrl-C.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import operators
from .cluster import running_cluster
from .sandbox import wait_until
from .toolchain import CACHE, PROGRAMS
from .volcano import VOLCANO

_OPERATORS: dict[str, operators.Operator] = {
    "training-operator-1.9": operators.TRAINING_OPERATOR_1_9,
    "training-operator-1.8": operators.TRAINING_OPERATOR_1_8,
    "mpi-operator": operators.MPI_OPERATOR,
    "volcano": VOLCANO,
}
_STATE = CACHE / "cluster"
"""The process id of the cluster that `up` started, and its output."""


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("command", choices=["build", "up", "down", "run"])
    parser.add_argument("--operator", choices=_OPERATORS, default="training-operator-1.9")
    arguments = parser.parse_args()
    match arguments.command:
        case "up":
            up(arguments.operator)
        case "down":
            down()
        case "run":
            run(arguments.operator)
        case _:
            build()


def build() -> None:
    """Build what is not built yet, and say where each program is."""
    for program in PROGRAMS:
        begin = time.monotonic()
        executable = program.build()
        print(f"{time.monotonic() - begin:6.1f} s  {executable}", flush=True)


def run(operator: str) -> None:
    """Keep a cluster until a signal comes; print its kubeconfig when it is ready."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    with running_cluster(_OPERATORS[operator]) as cluster:
        workspace = cluster.workspace("pipeline")
        print(f"up after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        print(f"export KUBECONFIG={cluster.kubeconfig}  # administrator", flush=True)
        print(f"export KUBECONFIG={workspace.kubeconfig}  # launcher in `pipeline`", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("ending", file=sys.stderr)


def up(operator: str) -> None:
    """Start `run` in the background and wait until it is ready."""
    _STATE.mkdir(parents=True, exist_ok=True)
    output = _STATE / "output"
    with output.open("w") as stream:
        command = [sys.executable, "-m", "tests.cluster", "run", "--operator", operator]
        process = subprocess.Popen(
            command, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, start_new_session=True
        )
    (_STATE / "pid").write_text(str(process.pid))

    def ready_or_ended() -> bool:
        return "launcher" in output.read_text() or process.poll() is not None

    wait_until(ready_or_ended, "cluster", seconds=120)
    print(output.read_text(), end="")
    if process.poll() is not None:
        raise SystemExit(1)


def down() -> None:
    """End what `up` started."""
    pid = int((_STATE / "pid").read_text())
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not Path("/proc", str(pid)).exists(), "end of the cluster")


main()
