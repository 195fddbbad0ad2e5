"""Data-parallel training in a Volcano job: MindSpore where it is installed, else plain sockets.

Volcano tells each worker the names of all (VC_WORKER_HOSTS) and its own place among them
(VC_TASK_INDEX). From these the script makes the variables of MindSpore's dynamic cluster, and runs
itself again as a worker of it; worker 0 has the scheduler beside it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import mindspore_training
from process_group import PATIENCE_SECONDS, wait_for_name

SCHEDULER_SECONDS = 60.0  # how long the scheduler may outlive worker 0


def main() -> None:
    """Run a worker, on worker 0 a scheduler too, and end as the worker ends."""
    hosts, index = os.environ["VC_WORKER_HOSTS"].split(","), int(os.environ["VC_TASK_INDEX"])
    wait_for_name(hosts[0], PATIENCE_SECONDS)
    cluster = {
        "MS_SCHED_HOST": socket.gethostbyname(hosts[0]),  # up to 2.4 it has to be an address
        "MS_SCHED_PORT": os.environ.get("MS_SCHED_PORT", "8118"),
        "MS_WORKER_NUM": str(len(hosts)),
        "MS_NODE_ID": str(index),
    }
    roles = ["MS_WORKER", "MS_SCHED"] if index == 0 else ["MS_WORKER"]
    worker, *schedulers = [
        subprocess.Popen([sys.executable, __file__], env={**os.environ, **cluster, "MS_ROLE": role})
        for role in roles
    ]
    code = worker.wait()
    for scheduler in schedulers:  # the other workers still sign off there
        try:
            failed = scheduler.wait(SCHEDULER_SECONDS if code == 0 else 0) != 0
        except subprocess.TimeoutExpired:
            scheduler.kill()
            failed = True
        if code == 0 and failed:
            raise SystemExit(
                "worker 0 has trained, but the scheduler saw workers that did not sign off;"
                " with numpy 2 none of MindSpore 2.10 does: pip install 'numpy<2'"
            )
    raise SystemExit(code if code >= 0 else 128 - code)  # as a shell tells a signal


if __name__ == "__main__":
    if "MS_ROLE" in os.environ:
        mindspore_training.train()
    else:
        main()
