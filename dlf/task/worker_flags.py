"""The flags of `dlf worker`, which every framework has, too."""

import re
from typing import Annotated, TypeAlias

from dlf.task import scalars
from dlf.task.flag import Flag


def _where(text: str) -> str:
    """Where the worker's executable comes from.

    Raises:
        ValueError: for another word.
    """
    if text not in {"auto", "off", "image"} and not re.fullmatch(r"/[^\s]+", text):
        raise ValueError("write auto, off, image, or the absolute path of dlf in the image")
    return text


Worker: TypeAlias = Annotated[
    str,
    Flag(
        "bring `dlf worker` into the training containers: when a flag needs it, never, from dlf's"
        " image, or it is there as PATH",
        _where,
        metavar="auto|off|image|PATH",
    ),
]
WorkerImage: TypeAlias = Annotated[
    str, Flag("dlf's own image, which the worker is copied from", scalars.image, metavar="IMAGE")
]
Processes: TypeAlias = Annotated[
    int, Flag("start the command so many times in each container", scalars.count(1), metavar="N")
]
ProcessEnv: TypeAlias = Annotated[
    str,
    Flag(
        "number the processes by variables instead of arguments, and share the GPUs out among them",
        scalars.choice("auto", "split", "share"),
        metavar="auto|split|share",
        form="optional",
    ),
]
Grace: TypeAlias = Annotated[
    float,
    Flag("time between SIGTERM and SIGKILL for processes", scalars.duration, metavar="TIME"),
]
WaitPeers: TypeAlias = Annotated[
    bool,
    Flag("start the command when the other pods can be reached", scalars.switch, form="switch"),
]
WaitTimeout: TypeAlias = Annotated[
    float,
    Flag("how long the other pods are waited for", scalars.duration, metavar="TIME"),
]
Hostfile: TypeAlias = Annotated[
    str,
    Flag(
        "write the job's host file, and its path to DLF_WORKER_HOSTFILE",
        scalars.text,
        metavar="auto|FILE",
        form="optional",
    ),
]
HostfileForm: TypeAlias = Annotated[
    str,
    Flag(
        "lines of the host file: `HOST slots=N`, or HOST alone",
        scalars.choice("slots", "hosts"),
        metavar="slots|hosts",
    ),
]
Slots: TypeAlias = Annotated[
    int,
    Flag("slots in the host file; default: GPUs of a pod, or 1", scalars.count(0), metavar="N"),
]
Remote: TypeAlias = Annotated[
    bool,
    Flag(
        "run the command in the first pod, with `ssh` and `pdsh` that reach the others",
        scalars.switch,
        form="switch",
    ),
]
RemotePort: TypeAlias = Annotated[
    int, Flag("port that `--remote` listens on", scalars.port, metavar="PORT")
]
TokenFile: TypeAlias = Annotated[
    str, Flag("file with the job's secret, for `--remote`", scalars.text, metavar="FILE")
]
Stacks: TypeAlias = Annotated[
    bool,
    Flag("let Python processes tell `dlf stacks` where they are", scalars.switch, form="switch"),
]

GRACE_SECONDS = 10.0
WAIT_TIMEOUT_SECONDS = 1800.0
REMOTE_PORT = 20022
TOKEN_DIRECTORY = "/var/run/secrets/dlf"  # noqa: S105 - a path
"""Where dlf mounts the key that Volcano's ssh plugin or mpi-operator makes for the job alone.

They mount it themselves in /root/.ssh, where it is readable by root only, as ssh demands.
"""
TOKEN_FILE = f"{TOKEN_DIRECTORY}/token"
LOCAL_IMAGE = "dlf"
"""`--worker_image` of the local runtime, where nothing is copied and no Secret is mounted."""
PROGRAM = "/dlf/dlf"
"""The executable in training containers, when it comes from dlf's own image."""
