"""The process as commands see it: environment, streams, signals. Tests make their own."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple


class Edge(NamedTuple):
    """What a command gets from its process. No struct of msgspec, which every start would load.

    Attributes:
        env: the environment.
        out: prints the data that was asked for to stdout.
        notify: prints one line of dlf's own to stderr.
        stdout: descriptor of stdout, for log lines.
        terminal: whether stdout is a terminal.
        width: columns for text that people read.
        run: runs a coroutine in an event loop that a signal cancels; returns its result.
        token: returns that many random hexadecimal digits.
    """

    env: Mapping[str, str]
    out: Callable[[str], object]
    notify: Callable[[str], None]
    stdout: int
    terminal: bool
    width: int
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    token: Callable[[int], str]
