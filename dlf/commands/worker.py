"""`dlf worker [flags] -- COMMAND`, and the `ssh` and `pdsh` that `--remote` gives the command."""

from collections.abc import Mapping, Sequence

from dlf import build_info
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError

_FEATURES = ("PROCESSES", "PROCESS_ENV", "WAIT_PEERS", "HOSTFILE", "REMOTE", "STACKS")

_SSH = """\
Usage:
  dlf ssh [options of ssh] HOST COMMAND

Runs the command in another pod of the job: with its container's environment and working directory.
Works in the command of `dlf worker --remote`, where `ssh` is on the PATH.
"""
_PDSH = """\
Usage:
  dlf pdsh [-S] [-N] [-f FANOUT] [-x HOST,HOST] -w HOST,HOST COMMAND

The same in several pods. %h in the command is the host, %n its number; -S returns the largest exit
code, -N leaves out the hosts before the lines.
"""


def run(argv: Sequence[str], edge: Edge) -> int:
    """Run the command; its exit code."""
    words = list(argv)
    end = words.index("--") if "--" in words else len(words)
    flags, command = words[:end], words[end + 1 :]
    if command and _plain(flags, edge.env):
        return _become(command, edge)
    # In this order: what is loaded before `read` forks is then given back (forget_start.c).
    from dlf.worker.run import run as run_worker
    from dlf.worker.worker_settings import USAGE, read_settings

    settings = read_settings(flags, edge.env, edge.width)
    if settings.help:
        edge.out(settings.help)
        return ExitCode.SUCCEEDED
    if not command and not (settings.remote and not settings.peers.first):
        raise UsageError("the command is missing", f"write {USAGE}")
    return run_worker(settings, command, edge.env, build_info.self_command(), edge.notify)


def ssh(argv: Sequence[str], edge: Edge) -> int:
    """Run a command in another pod of the job."""
    if argv in (["-h"], ["--help"]):
        edge.out(_SSH)
        return ExitCode.SUCCEEDED
    from dlf.worker import remote_commands

    return remote_commands.ssh(argv, edge.env, edge.notify)


def pdsh(argv: Sequence[str], edge: Edge) -> int:
    """Run a command in several pods of the job."""
    if argv in (["-h"], ["--help"]):
        edge.out(_PDSH)
        return ExitCode.SUCCEEDED
    from dlf.worker import remote_commands

    return remote_commands.pdsh(argv, edge.env, edge.notify)


def _plain(flags: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether nothing is asked for: seen without loading what reads flags."""
    one = " ".join(flags) in {"", "--processes 1", "--processes=1"}
    return one and not any(f"DLF_{name}" in env for name in _FEATURES)


def _become(command: Sequence[str], edge: Edge) -> int:
    """Become the command, so that nothing of dlf is left."""
    from dlf.worker.programs import CannotStart, replace
    from dlf.worker.shell import adapted

    try:
        replace(adapted(command, edge.env), edge.env)
    except CannotStart as error:
        edge.notify(str(error))
        return error.code
