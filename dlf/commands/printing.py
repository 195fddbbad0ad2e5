"""How commands print pods' logs: options from flags, and the writer to standard output."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dlf.edge import Edge
from dlf.logs.format import wants_colour
from dlf.logs.log_options import LogOptions
from dlf.logs.writer import OutputClosed, Writer
from dlf.task.settings import Logs

_FLUSH_SECONDS = 10.0  # how long a slow reader of stdout may take for the last lines


def log_options(flags: Logs, edge: Edge) -> LogOptions:
    """How logs are printed.

    Args:
        flags: as parsed.
        edge: whether stdout is a terminal, and the variables that speak of colour.
    """
    return LogOptions(
        **msgspec.structs.asdict(flags),
        terminal=edge.terminal and edge.env.get("TERM") != "dumb",
        colour=wants_colour(edge.env, is_terminal=edge.terminal),
    )


def check_ranks(flags: Logs, edge: Edge, ranks: int) -> None:
    """Say so when `--log_ranks` has a rank that is not among the `ranks` of a job."""
    missing = [rank for rank in flags.log_ranks if not -ranks <= rank < ranks]
    if ranks and missing:
        edge.notify(f"--log_ranks: there is no rank {missing[0]}; ranks are 0 to {ranks - 1}")


@contextmanager
def log_writer(edge: Edge) -> Iterator[Writer]:
    """Standard output for log lines; at the end the remaining lines are written within 10 s.

    A reader that stops reading, such as `head`, is no fault: the job is followed to its result.
    """

    def report_closed(closed: OutputClosed) -> None:
        if closed.reason:
            edge.notify(closed.reason)

    writer = Writer(edge.stdout, report_closed, edge.footer)
    try:
        yield writer
    finally:
        writer.flush(_FLUSH_SECONDS)
        writer.close()
