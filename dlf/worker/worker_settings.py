"""The flags of `dlf worker`, as values, with what dlf found out for them in this container.

They are read in a child process: the modules that read flags take four megabytes, which would be
held for as long as the training runs.
"""

import marshal
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dlf.errors import DlfError, UsageError
from dlf.local.accelerators import Accelerators
from dlf.worker.peers import Peers

USAGE = "dlf worker [flags] -- COMMAND"


class WorkerSettings(NamedTuple):
    """The flags, by their names, and what they need of the container.

    Attributes:
        peers: the pods of the job.
        accelerators: accelerators of this container.
        help: the text of `--help` if that was given, or "".
    """

    processes: int = 1
    process_env: str = ""
    grace: float = 0.0
    wait_peers: bool = False
    wait_timeout: float = 0.0
    hostfile: str = ""
    hostfile_form: str = ""
    slots: int = 0
    remote: bool = False
    remote_port: int = 0
    token_file: str = ""
    stacks: bool = False
    peers: Peers = Peers()
    accelerators: Accelerators | None = None
    help: str = ""


def read_settings(flags: Sequence[str], env: Mapping[str, str], width: int) -> WorkerSettings:
    """The settings of a command line without its command.

    Raises:
        UsageError: a flag is wrong.
    """
    source, sink = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if not pid:
        _send_settings(sink, flags, env, width)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        answer = file.read()
    os.waitpid(pid, 0)
    kind, content = marshal.loads(answer)  # noqa: S302 - written by ourselves
    if kind == "wrong":
        raise UsageError(*content)
    if kind == "bug":
        raise RuntimeError(content)
    hosts, own, master, launcher = content.pop("peers")
    accelerators = content.pop("accelerators")
    return WorkerSettings(
        peers=Peers(tuple(hosts), own, master, launcher),
        accelerators=Accelerators(*accelerators) if accelerators else None,
        **content,
    )


def _send_settings(sink: int, flags: Sequence[str], env: Mapping[str, str], width: int) -> None:
    answer: tuple[str, Any]
    try:
        from dlf.worker.flags import read_flags

        answer = ("found", read_flags(flags, env, width))
    except DlfError as error:
        answer = ("wrong", (error.message, error.hint))
    except BaseException:
        import traceback

        answer = ("bug", traceback.format_exc())
    try:
        with os.fdopen(sink, "wb") as file:
            file.write(marshal.dumps(answer))
    finally:
        os._exit(0)
