"""mindformers: a PyTorchJob whose command ends in what MindFormers' msrun_launcher.sh takes."""

import msgspec

from dlf.frameworks import pytorch
from dlf.frameworks._pod import processes_per_pod
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers

_LOG_DIR = "output/msrun_log"  # the script's own default, relative to --working_dir
_JOIN_TIMEOUT_SECONDS = 7200  # that the script waits for the other nodes; its own default


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a PyTorchJob; the shell of each pod fills in the address and rank from the operator.

    The appended words are those of scripts/msrun_launcher.sh in its nine-argument form: processes
    in all, processes here, master address, port, node rank, log directory, JOIN, time-out. JOIN is
    True: by default msrun returns at once, and the pod would end with 0 before it trained.
    """
    local = processes_per_pod(settings)
    arguments = (
        f"{settings.num_worker * local} {local} $MASTER_ADDR $MASTER_PORT $RANK"
        f" {_LOG_DIR} True {_JOIN_TIMEOUT_SECONDS}"
    )
    launched = msgspec.structs.replace(settings, command=f"{settings.command.rstrip()} {arguments}")
    return pytorch.job(launched, kind, suffix, prefix="mindjob", env={})


FRAMEWORK = Framework(
    name="mindformers",
    settings=Workers,
    kinds=(PYTORCHJOB,),
    render=render,
)
