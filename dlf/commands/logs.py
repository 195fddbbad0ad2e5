"""`dlf logs JOB...`: the logs of jobs, whoever started them, as one stream."""

import datetime
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec

from dlf.commands.arguments import Selection, Where, read
from dlf.commands.cluster import connect, verbose_notify
from dlf.commands.printing import check_ranks, log_options, log_writer
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.print_logs import print_logs
from dlf.logs.log_options import LogOptions
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
    ("Where it runs", Where),
    ("Which lines", LineSelection),
    ("Logs", Logs),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them; 0 when they were shown, whatever became of the jobs."""
    parsed = read(argv, edge, "dlf logs JOB...", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    given, (selection, where, which, logs, connection) = parsed
    names = [*dict.fromkeys(given)]
    options = _options(names, which, logs, edge)
    edge.run(
        _show_local(names, logs, options, edge)
        if where.is_local
        else _show(names, selection, which, logs, options, connection, edge)
    )
    return ExitCode.SUCCEEDED


def _options(names: Sequence[str], which: LineSelection, logs: Logs, edge: Edge) -> LogOptions:
    since = which.since_time
    if which.since:
        start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=which.since)
        since = max(since, start.isoformat().replace("+00:00", "Z"))
    return msgspec.structs.replace(
        log_options(logs, edge),
        follow=which.follow and not which.no_follow and not which.previous,
        since=since,
        tail=which.tail,
        previous=which.previous,
        several_jobs=len(names) > 1,
    )


async def _show_local(names: Sequence[str], logs: Logs, options: LogOptions, edge: Edge) -> None:
    from dlf.inspect.local_logs import RecordedLogs
    from dlf.local.console import Console
    from dlf.local.recorder import state_directory
    from dlf.local.stored_runs import find_run

    directory = state_directory(edge.env)
    runs = [find_run(directory, name) for name in names]
    for run in runs:
        check_ranks(logs, edge, run.history.ranks)
    console = Console(edge.stdout, options, edge.notify)
    await RecordedLogs(runs, console, options, edge.notify).print()


async def _show(
    names: Sequence[str],
    selection: Selection,
    which: LineSelection,
    logs: Logs,
    options: LogOptions,
    connection: Connection,
    edge: Edge,
) -> None:
    async with connect(connection, edge) as (client, namespace):
        with log_writer(edge) as writer:
            await print_logs(
                client,
                namespace,
                names,
                selection.kind,
                lambda: Multiplexer(client, writer, options, edge.notify),
                follow_on=options.follow,
                selector=which.selector,
                check_ranks=partial(check_ranks, logs, edge),
                notify=edge.notify,
                verbose=verbose_notify(connection, edge),
            )
