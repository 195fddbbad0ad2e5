"""The remote shell of a local MPIJob: it runs a command as one of its workers, on this machine.

mpirun starts it in place of ssh or `kubectl exec`, as `sh FILE [OPTION...] HOST COMMAND...`, once
for each worker. What the worker's container would have in its environment is in the file; beside it
each worker gets a directory of its own.
"""

import shlex
from collections.abc import Iterable, Mapping

_MISSING = 255  # as ssh ends, when it cannot reach a host


def script(workers: Iterable[tuple[str, str, Mapping[str, str]]]) -> str:
    """The shell script.

    Args:
        workers: address, name and environment of each.
    """
    cases = "\n".join(
        f"    {address} | {name} | {name}.*)\n"
        f'        mkdir -p "${{0%/*}}/{name}"\n'
        f"        exec env {shlex.join(f'{key}={value}' for key, value in variables.items())}"
        f' sh -c "$*"\n'
        "        ;;"
        for address, name, variables in workers
    )
    return f"""\
words="$*"
while [ $# -gt 0 ]; do
    host=$1
    shift
    case $host in
{cases}
    esac
done
echo "dlf: no worker of this job is named in: $words" >&2
exit {_MISSING}
"""
