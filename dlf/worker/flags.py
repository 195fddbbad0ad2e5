"""Reads the flags of `dlf worker` and what they need of the container; see `worker_settings`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dlf.errors import UsageError
from dlf.local.accelerators import present
from dlf.task import worker as flags
from dlf.task.load import load, split
from dlf.worker.peers import peers
from dlf.worker.worker_settings import USAGE


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """What to do around the command."""

    processes: flags.Processes = 1
    process_env: flags.ProcessEnv = ""
    grace: flags.Grace = flags.GRACE_SECONDS
    wait_peers: flags.WaitPeers = False
    wait_timeout: flags.WaitTimeout = flags.WAIT_TIMEOUT_SECONDS
    hostfile: flags.Hostfile = ""
    hostfile_form: flags.HostfileForm = "slots"
    slots: flags.Slots = 0
    remote: flags.Remote = False
    remote_port: flags.RemotePort = flags.REMOTE_PORT
    token_file: flags.TokenFile = flags.TOKEN_FILE
    stacks: flags.Stacks = False


GROUPS = (("Around the command", Flags),)


def read_flags(argv: Sequence[str], env: Mapping[str, str], width: int) -> dict[str, Any]:
    """The fields of `WorkerSettings`, as values that `marshal` can carry.

    Raises:
        UsageError: a flag is wrong.
    """
    if {"-h", "--help"} & set(argv):
        from dlf.task.help import flags_text

        text = f"Usage:\n  {USAGE}\n\n{flags_text(GROUPS, width)}"
        return {"help": text, "peers": ((), None, None), "accelerators": None}
    arguments = split(argv, Flags)
    if arguments.positional:
        raise UsageError(f"unexpected argument {arguments.positional[0]!r}", f"write {USAGE}")
    values = msgspec.structs.asdict(load(Flags, arguments, env))
    job = peers(env, os.uname().nodename, _text)
    if values["remote"] and values["processes"] > 1:
        raise UsageError(
            "--remote starts the command once, in the first pod",
            "leave out --processes; the launcher starts the processes",
        )
    if values["remote"] and job.own is None:
        raise UsageError(
            "--remote: it is not known which pods the job has, and which one this is",
            "it works in pods of a Volcano Job, a PyTorchJob, a TFJob or an MPIJob",
        )
    own = present(_devices(), env)
    return values | {
        "slots": values["slots"] or _slots(env, values["processes"]),
        "peers": (list(job.hosts), job.own, job.master),
        "accelerators": (own.variable, own.names) if own else None,
    }


def _slots(env: Mapping[str, str], processes: int) -> int:
    number = env.get("GPU_NUM", "")
    return int(number) if number.isdecimal() and int(number) else processes


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _devices() -> list[str]:
    try:
        return os.listdir("/dev")
    except OSError:
        return []
