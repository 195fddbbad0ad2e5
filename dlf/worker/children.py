"""The processes that `dlf worker` starts: the command line and environment of each. Pure.

`--processes N` starts the command N times. Each gets its number in two arguments at the end, as
the platform's users write it in `start.sh`, or in environment variables (`--process_env`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlf.local.accelerators import Accelerators

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class Child(NamedTuple):
    """One process to start.

    Attributes:
        number: from 0.
        argv: its command line.
        env: its whole environment.
    """

    number: int
    argv: list[str]
    env: dict[str, str]


def children(
    command: Sequence[str],
    env: Mapping[str, str],
    *,
    processes: int,
    process_env: str,
    cpus: int,
    accelerators: Accelerators | None,
) -> list[Child]:
    """The processes of a command.

    Args:
        command: the user's command line.
        env: the environment of all.
        processes: how many.
        process_env: "" appends `--process_index I --process_num N` to each command line;
            `auto` and `split` set variables and give each process accelerators of its own, `share`
            sets variables and lets all see all accelerators.
        cpus: processors that this container may use.
        accelerators: that this container may use, if there are any.
    """
    if processes == 1 and not process_env:
        return [Child(0, list(command), dict(env))]
    if not process_env:
        return [
            Child(
                index,
                numbered(command, f"--process_index {index} --process_num {processes}"),
                dict(env),
            )
            for index in range(processes)
        ]
    split = process_env != "share"
    threads = str(max(cpus // processes, 1))
    shared = {name: threads for name in _THREADS if name not in env}
    return [
        Child(
            index,
            list(command),
            {
                **env,
                **shared,
                "PROCESS_INDEX": str(index),
                "PROCESS_NUM": str(processes),
                "LOCAL_RANK": str(index),
                "LOCAL_WORLD_SIZE": str(processes),
                **(_share(accelerators, index, processes) if split and accelerators else {}),
            },
        )
        for index in range(processes)
    ]


def numbered(command: Sequence[str], arguments: str) -> list[str]:
    """The command with arguments at its end; those of `bash -c TEXT` go to the end of its text.

    dlf renders the user's command as the last word of `bash -c TEXT`, or of a prelude that ends in
    `exec bash -c "$0"` (see dlf/frameworks/_shell.py).
    """
    *words, last = command
    shell = list(words[1:2]) == ["-c"] and words[0].rpartition("/")[2] in {"bash", "sh"}
    if shell and (len(words) == 2 or (len(words) == 3 and words[2].endswith('exec bash -c "$0"'))):
        return [*words, f"{last.rstrip()} {arguments}"]
    return [*command, *arguments.split()]


def _share(accelerators: Accelerators, index: int, processes: int) -> dict[str, str]:
    """One process's part: equal parts of neighbours; with too few, several processes share one."""
    count = len(accelerators.names)
    first = index * count // processes
    last = max((index + 1) * count // processes, first + 1)
    return {accelerators.variable: ",".join(accelerators.names[first:last])}
