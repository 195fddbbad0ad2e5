"""The command tree: the first word decides who parses the rest.

Imports are local to the commands: `version`, `--help` and usage errors must not load what
they do not use.
"""

from collections.abc import Callable, Mapping, Sequence

from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError, nearest

_HELP = {"-h", "--help"}
_VERSION = {"-V", "--version"}
_LINKED_PROGRAMS = {"ssh", "pdsh"}


def _version(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import version

    return version.run(argv, edge)


def _worker(argv: Sequence[str], edge: Edge) -> int:
    from dlf.commands import worker

    return worker.run(argv, edge)


def _stacks(argv: Sequence[str], edge: Edge) -> int:
    from dlf.commands import stacks

    return stacks.run(argv, edge)


def _ssh(argv: Sequence[str], edge: Edge) -> int:
    from dlf.commands import worker

    return worker.ssh(argv, edge)


def _pdsh(argv: Sequence[str], edge: Edge) -> int:
    from dlf.commands import worker

    return worker.pdsh(argv, edge)


def _install(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import install

    return install.run(argv, edge)


def _list(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import list as listing

    return listing.run(argv, edge)


def _status(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import status

    return status.run(argv, edge)


def _logs(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import logs

    return logs.run(argv, edge)


def _delete(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import delete

    return delete.run(argv, edge)


def _check(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import check

    return check.run(argv, edge)


def _run(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import run

    return run.run(argv, edge)


def _prune(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import prune

    return prune.run(argv, edge)


def _completion(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import completion

    return completion.run(argv, edge)


def _man(argv: Sequence[str], edge: Edge) -> ExitCode:
    from dlf.commands import man

    return man.run(argv, edge, {name: line for name, (line, _) in COMMANDS.items()})


COMMANDS: dict[str, tuple[str, Callable[[Sequence[str], Edge], int]]] = {
    "run": ("run a job from a file: `dlf run --file JOB.yaml`", _run),
    "check": ("say whether this cluster would run a task: `dlf check FRAMEWORK ...`", _check),
    "list": ("list the jobs that dlf submitted", _list),
    "status": ("explain the state of jobs", _status),
    "logs": ("print the logs of jobs, and follow them to their end", _logs),
    "delete": ("delete jobs and all that belongs to them", _delete),
    "prune": ("delete the jobs that ended long ago", _prune),
    "stacks": ("say where every rank of a job stands, the odd one first", _stacks),
    "worker": ("run a command in a training container: several processes, peers, ssh", _worker),
    "ssh": ("run a command in another pod, inside `dlf worker --remote`", _ssh),
    "pdsh": ("the same in several pods", _pdsh),
    "install": ("copy this executable to a file or directory", _install),
    "completion": ("print the completion script for bash, zsh or fish", _completion),
    "man": ("print the manual page: `dlf man | man -l -`", _man),
    "version": ("say what this dlf is made of", _version),
}
"""What is not a framework: name to one line of help, and what runs it."""


def main(words: Sequence[str], edge: Edge) -> int:
    """Run the command; its exit code, which `worker`, `ssh` and `pdsh` have from what they run.

    Args:
        words: the command line, the program's name first.
        edge: the process.

    Raises:
        DlfError: the caller prints it.
    """
    command, *rest = _as_launcher(words, edge.env) or ["--help"]
    if command in _HELP or (command == "help" and not rest):
        return _help(edge)
    if command == "help":
        command, rest = rest[0], ["--help"]
    if command in _VERSION:
        command = "version"
    if command == "__complete":  # what the scripts of `dlf completion` call
        from dlf.commands import completion

        return completion.complete(rest, edge, [*COMMANDS])
    if command in COMMANDS:
        return COMMANDS[command][1](rest, edge)
    from dlf.commands import train
    from dlf.frameworks import SUMMARIES, load_framework

    if command.startswith("-"):
        raise UsageError(
            f"unexpected flag {command!r} before the command", "write dlf FRAMEWORK [flags]"
        )
    if command not in SUMMARIES:
        raise UsageError(f"unknown command {command!r}", nearest(command, [*SUMMARIES, *COMMANDS]))
    return train.run(load_framework(command), rest, edge)


def _help(edge: Edge) -> ExitCode:
    from dlf.frameworks import SUMMARIES
    from dlf.usage import overview

    edge.out(overview(SUMMARIES, {name: line for name, (line, _) in COMMANDS.items()}, edge.width))
    return ExitCode.SUCCEEDED


def _as_launcher(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The command, also of `python3 launcher-<framework>.py ...` as old templates call it."""
    program, *rest = words
    if program.rpartition("/")[2] in _LINKED_PROGRAMS:  # see dlf/worker/scratch.py
        return [program.rpartition("/")[2], *rest]
    if program.rpartition("/")[2] not in {"python", "python3"} or not rest:
        return rest
    arguments = _after_interpreter_options(rest) or rest[-1:]
    script = arguments[0].rpartition("/")[2]
    if script == "launcher.py":
        framework = env.get("DLF_FRAMEWORK", "").strip()
        if not framework:
            raise UsageError(
                "launcher.py does not say which framework to run",
                "use the image dlf:VERSION-tf or dlf:VERSION-pytorch,"
                " or set DLF_FRAMEWORK to the framework",
            )
        return [framework, *arguments[1:]]
    if script.startswith("launcher-") and script.endswith(".py"):
        return [script.removeprefix("launcher-").removesuffix(".py"), *arguments[1:]]
    raise UsageError(
        f"this {program!r} is dlf, not Python, and cannot run {arguments[0]!r}",
        "write launcher-FRAMEWORK.py, or call it as dlf",
    )


def _after_interpreter_options(words: Sequence[str]) -> list[str]:
    """The script and its arguments, after Python's own options such as `-u` or `-W ignore`."""
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0][:2] not in {"-c", "-m"}:
        takes_value = rest.pop(0) in {"-W", "-X", "--check-hash-based-pycs"}
        del rest[: int(takes_value)]
    return rest
