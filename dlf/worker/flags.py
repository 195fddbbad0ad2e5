"""Reads the flags of `dlf worker` and what they need of the container; see `worker_settings`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dlf.errors import UsageError
from dlf.local.accelerators import present
from dlf.task.load import load, split
from dlf.task.settings import TaskSettings
from dlf.worker.peers import peers
from dlf.worker.worker_settings import USAGE, WorkerSettings

_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(TaskSettings)}
Flags = msgspec.defstruct(
    "Flags",
    [
        (name, TaskSettings.__annotations__[name], _DEFAULTS[name])
        for name in WorkerSettings._fields
        if name in TaskSettings.__annotations__
    ],
    frozen=True,
    kw_only=True,
)
"""The settings of the worker, declared once: as flags of the task."""

GROUPS = (("Around the command", Flags),)


def read_flags(argv: Sequence[str], env: Mapping[str, str], width: int) -> dict[str, Any]:
    """The fields of `WorkerSettings`, as values that `marshal` can carry.

    Raises:
        UsageError: a flag is wrong.
    """
    if {"-h", "--help"} & set(argv):
        from dlf.task.help import flags_text

        text = f"Usage:\n  {USAGE}\n\n{flags_text(GROUPS, width)}"
        return {"help": text, "peers": ((), None, None, False), "accelerators": None}
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
    own = present(_devices(), env)
    return values | {
        "slots": values["slots"] or _slots(env, values["processes"]),
        "peers": (list(job.hosts), job.own, job.master, job.launcher),
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
