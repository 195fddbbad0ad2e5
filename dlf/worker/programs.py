"""Finds a program and becomes it by exec: all that `dlf worker` does without flags.

Every command is started through this, so it imports next to nothing.
"""

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from typing import NoReturn

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # exit codes of a shell
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # a command expects their defaults

_REASONS = {
    errno.ENOENT: "the interpreter in its first line, or its loader (ld.so), is not in this image",
    errno.ENOEXEC: "it is neither built for this machine's CPU nor a script that begins with #!",
    errno.E2BIG: "its command line and environment are longer than Linux takes",
}
"""Words for errors of execve(2) on a file that is there."""


class CannotStart(Exception):
    """The program is not there, or cannot be run.

    Args:
        message: one line that says why.
        code: the exit code that a shell would have.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def find(program: str, env: Mapping[str, str]) -> str:
    """The path of a program, by the PATH of an environment.

    Raises:
        CannotStart: there is none, or none that may be executed.
    """
    if "/" in program:
        candidates = [program]
    else:
        path = env.get("PATH") or os.defpath
        candidates = [f"{folder or '.'}/{program}" for folder in path.split(":")]
    existing = [path for path in candidates if os.path.isfile(path)]
    for path in existing:
        if os.access(path, os.X_OK):
            return path
    if existing:
        raise CannotStart(
            f"cannot run {program!r}: it is not executable; start it by its interpreter, as bash or"
            " python3, or set its mode by chmod +x",
            NOT_EXECUTABLE,
        )
    where = "there is no such file" if "/" in program else "it is not on the PATH of this container"
    raise CannotStart(f"cannot run {program!r}: {where}", NOT_FOUND)


def refused(program: str, error: OSError) -> CannotStart:
    """What to raise when the kernel does not start a program that is there."""
    why = _REASONS.get(error.errno or 0, error.strerror)
    return CannotStart(f"cannot run {program!r}: {why}", NOT_EXECUTABLE)


def replace(argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Become the program.

    Raises:
        CannotStart: it is not there or cannot be run.
    """
    program = find(argv[0], env)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, list(argv), env)  # noqa: S606 - the shell is in argv, where there is one
    except OSError as error:
        raise refused(argv[0], error) from None
