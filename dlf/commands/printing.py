"""From flags to log options, for every command that prints logs."""

import msgspec

from dlf.edge import Edge
from dlf.logs.format import wants_colour
from dlf.logs.options import LogOptions
from dlf.task.options import Logs


def log_options(flags: Logs, edge: Edge, ranks: int, *, follow: bool = True) -> LogOptions:
    """How logs are printed.

    Args:
        flags: as parsed.
        edge: whether stdout is a terminal, and the variables that speak of colour.
        ranks: how many ranks the job has; negative ranks count from there.
        follow: go on until the containers have ended.
    """
    missing = [rank for rank in flags.log_ranks if not -ranks <= rank < ranks]
    if ranks and missing:
        edge.say(f"--log_ranks: there is no rank {missing[0]}; ranks are 0 to {ranks - 1}")
    return LogOptions(
        **msgspec.structs.asdict(flags),
        colour=wants_colour(edge.env, is_terminal=edge.terminal),
        ranks=ranks,
        follow=follow,
    )
