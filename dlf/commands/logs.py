"""`dlf logs JOB`: the logs of a job, whoever started it."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from dlf.commands.arguments import Selection, read
from dlf.commands.cluster import connect, verbose_notify
from dlf.commands.printing import log_options, log_writer
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.print_logs import print_logs
from dlf.logs.multiplexer import Multiplexer
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Connection, Logs


class Following(msgspec.Struct, frozen=True, kw_only=True):
    """How long."""

    no_follow: Annotated[
        bool,
        Flag("print what there is, and do not wait for more", scalars.switch, form="switch"),
    ] = False


_GROUPS = (
    ("Job", Selection),
    ("Following", Following),
    ("Logs", Logs),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them; 0 when they were shown, whatever became of the job."""
    parsed = read(argv, edge, "dlf logs JOB", _GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    (name,), (selection, following, logs, connection) = parsed
    edge.run(_show(name, selection, following, logs, connection, edge))
    return ExitCode.SUCCEEDED


async def _show(
    name: str,
    selection: Selection,
    following: Following,
    logs: Logs,
    connection: Connection,
    edge: Edge,
) -> None:
    follow_on = not following.no_follow
    async with connect(connection, edge) as (client, namespace):
        with log_writer(edge) as writer:

            def open_logs(ranks: int) -> Multiplexer:
                options = log_options(logs, edge, ranks, follow=follow_on)
                return Multiplexer(client, writer, options, edge.notify)

            await print_logs(
                client,
                namespace,
                name,
                selection.kind,
                open_logs,
                follow_on=follow_on,
                notify=edge.notify,
                verbose=verbose_notify(connection, edge),
            )
