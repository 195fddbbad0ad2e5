"""The process as commands see it: environment, streams, signals. Tests make their own."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from dlf.footer import Footer


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
        footer: what stands below the lines of stdout, if that is a terminal that can show it.
        show_status: shows a status line; None where that would not be on a terminal, or mixed
            with what others write there.
    """

    env: Mapping[str, str]
    out: Callable[[str], object]
    notify: Callable[[str], None]
    stdout: int
    terminal: bool
    width: int
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    token: Callable[[int], str]
    footer: Footer | None = None
    show_status: Callable[[str], None] | None = None
