"""The process as commands see it, so that each can be tested without one."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any


class Edge:
    """What comes from outside.

    Args:
        env: the environment.
        out: prints text that was asked for to stdout.
        say: prints one line of dlf's own to stderr.
        stdout: descriptor of stdout, for log lines.
        terminal: whether stdout is a terminal.
        width: columns for text that people read.
        drive: runs a coroutine under the process's signal handling and gives its result.
        token: random hexadecimal digits, as many as asked for.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        out: Callable[[str], object],
        say: Callable[[str], None],
        stdout: int,
        terminal: bool,
        width: int,
        drive: Callable[[Coroutine[Any, Any, Any]], Any],
        token: Callable[[int], str],
    ) -> None:
        self.env = env
        self.out = out
        self.say = say
        self.stdout = stdout
        self.terminal = terminal
        self.width = width
        self.drive = drive
        self.token = token
