"""Runs a command line by bash, else by sh, else without a shell.

Images made FROM scratch have no shell. A command line without shell syntax is split into its words
and run directly.
"""

from collections.abc import Mapping, Sequence

from dlf.worker.programs import NOT_FOUND, CannotStart, find

_SHELLS = ("bash", "sh")
_SYNTAX = r"[$`;&|<>()*?#~\n\[{]|^\s*\w+="


def by_shell(command: str, env: Mapping[str, str]) -> list[str]:
    """The argv that runs a command line.

    Raises:
        CannotStart: it needs a shell, and the image has none.
    """
    for shell in _SHELLS:
        try:
            return [find(shell, env), "-c", command]
        except CannotStart:
            continue
    import re
    import shlex

    try:
        words = [] if re.search(_SYNTAX, command) else shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise CannotStart(
            f"cannot run {command!r}: it needs a shell, and this image has neither bash nor sh",
            NOT_FOUND,
        )
    return words


def adapted(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """A container's command line for images without bash.

    dlf renders `bash -c COMMAND`, or `bash -c PRELUDE COMMAND` where the prelude sets the rank. The
    user's command is the last word of both.
    """
    if list(argv[:2]) == ["bash", "-c"] and len(argv) in {3, 4}:
        try:
            find("bash", env)
        except CannotStart:
            return by_shell(argv[-1], env)
    return list(argv)
