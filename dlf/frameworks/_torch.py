"""The rendezvous of torch.distributed, so that a plain `torchrun train.py` works everywhere.

torchrun takes each flag from `PET_<FLAG>`; scripts with their own `init_process_group` read
MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK. training-operator 1.7 and later sets all of these
in a PyTorchJob, earlier ones only the second set, Volcano neither. Values that are the same in
every pod are literal; the pod's own rank is known only in the pod, and is set by a prelude, an
assignment in the shell before the user's command.
"""

from dlf.frameworks._pod import processes_per_pod
from dlf.task.settings import TaskSettings

MASTER_PORT = 23456  # training-operator's default port of a PyTorchJob


def torchrun_env(settings: TaskSettings, nodes: int, master: str) -> dict[str, str]:
    """The flags of torchrun as variables: one agent per pod, one process per accelerator."""
    return {
        "PET_NNODES": str(nodes),
        "PET_NPROC_PER_NODE": "auto"
        if settings.gpu.count == -1
        else str(processes_per_pod(settings)),
        "PET_MASTER_ADDR": master,
        "PET_MASTER_PORT": str(MASTER_PORT),
    }


def script_env(nodes: int, master: str) -> dict[str, str]:
    """What training-operator gives to scripts; WORLD_SIZE counts pods."""
    return {
        "MASTER_ADDR": master,
        "MASTER_PORT": str(MASTER_PORT),
        "WORLD_SIZE": str(nodes),
    }
