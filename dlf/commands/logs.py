"""`dlf logs JOB`: the logs of a job, whoever started it."""

import datetime
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


class LineSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines: of which pods, since when, and whether to wait for more."""

    follow: Annotated[
        bool,
        Flag(
            "wait for more lines until the job has ended; this is the default",
            scalars.switch,
            form="switch",
            short="-f",
        ),
    ] = True
    no_follow: Annotated[
        bool,
        Flag("print what there is, and do not wait for more", scalars.switch, form="switch"),
    ] = False
    tail: Annotated[
        int | None,
        Flag(
            "of what was written before, print the last lines of each log only",
            scalars.count(0),
            metavar="N",
        ),
    ] = None
    since: Annotated[
        float,
        Flag("print no lines older than this", scalars.duration, metavar="TIME", short="-s"),
    ] = 0.0
    since_time: Annotated[
        str,
        Flag(
            "print no lines before this time, such as 2026-01-02T15:04:05Z",
            scalars.instant,
            metavar="TIME",
        ),
    ] = ""
    previous: Annotated[
        bool,
        Flag(
            "print the logs of the containers' instances before the last restart",
            scalars.switch,
            form="switch",
            short="-p",
        ),
    ] = False
    selector: Annotated[
        str,
        Flag("read only the job's pods with these labels", metavar="LABELS", short="-l"),
    ] = ""


GROUPS = (
    ("Job", Selection),
    ("Which lines", LineSelection),
    ("Logs", Logs),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them; 0 when they were shown, whatever became of the job."""
    parsed = read(argv, edge, "dlf logs JOB", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    (name,), (selection, which, logs, connection) = parsed
    edge.run(_show(name, selection, which, logs, connection, edge))
    return ExitCode.SUCCEEDED


async def _show(
    name: str,
    selection: Selection,
    which: LineSelection,
    logs: Logs,
    connection: Connection,
    edge: Edge,
) -> None:
    follow_on = which.follow and not which.no_follow and not which.previous
    since = which.since_time
    if which.since:
        start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=which.since)
        since = max(since, start.isoformat().replace("+00:00", "Z"))
    async with connect(connection, edge) as (client, namespace):
        with log_writer(edge) as writer:

            def open_logs(ranks: int) -> Multiplexer:
                options = msgspec.structs.replace(
                    log_options(logs, edge, ranks, follow=follow_on),
                    since=since,
                    tail=which.tail,
                    previous=which.previous,
                )
                return Multiplexer(client, writer, options, edge.notify)

            await print_logs(
                client,
                namespace,
                name,
                selection.kind,
                open_logs,
                follow_on=follow_on,
                selector=which.selector,
                notify=edge.notify,
                verbose=verbose_notify(connection, edge),
            )
