"""`dlf list`: the jobs that dlf submitted, or ran on this machine."""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated

import msgspec

from dlf.commands.arguments import Output, Where, read
from dlf.commands.cluster import connect
from dlf.commands.table import age, table
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.views import JobRow, list_jobs
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Connection

_WATCH_SECONDS = 2.0  # between two looks; jobs change in seconds at best


class ListFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs."""

    all_namespaces: Annotated[
        bool, Flag("of all namespaces", scalars.switch, form="switch", short="-A")
    ] = False
    watch: Annotated[
        bool,
        Flag("go on, and print what changes", scalars.switch, form="switch", short="-w"),
    ] = False


GROUPS = (
    ("Which jobs", ListFilter),
    ("Where they run", Where),
    ("Output", Output),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them, the newest first."""
    parsed = read(argv, edge, "dlf list", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    which, where, output, connection = parsed[1]
    edge.run(
        _list_local(which, output, edge)
        if where.is_local
        else _list(which, output, connection, edge)
    )
    return ExitCode.SUCCEEDED


async def _list(which: ListFilter, output: Output, connection: Connection, edge: Edge) -> None:
    async with connect(connection, edge) as (client, namespace):
        place = "" if which.all_namespaces else namespace
        words = "in the cluster" if which.all_namespaces else "in this namespace"
        await _show(partial(list_jobs, client, place), words, which, output, edge)


async def _list_local(which: ListFilter, output: Output, edge: Edge) -> None:
    from dlf.inspect.local_views import run_row
    from dlf.local.recorder import state_directory
    from dlf.local.stored_runs import stored_runs

    directory = state_directory(edge.env)

    async def rows() -> list[JobRow]:
        return [run_row(run) for run in stored_runs(directory)]

    words = "on this machine"
    if not directory:
        words += ": they are kept only where HOME is a directory, or XDG_STATE_HOME is set"
    which = msgspec.structs.replace(which, all_namespaces=False)
    await _show(rows, words, which, output, edge)


async def _show(
    find: Callable[[], Awaitable[list[JobRow]]],
    place: str,
    which: ListFilter,
    output: Output,
    edge: Edge,
) -> None:
    """Print what is found; with `--watch` go on, and print what changes."""
    rows = await find()
    _print(rows, place, which, output, edge)
    while which.watch:
        await asyncio.sleep(_WATCH_SECONDS)
        before, rows = rows, await find()
        now = {(row.namespace, row.kind, row.name) for row in rows}
        gone = [
            msgspec.structs.replace(row, state="deleted", running=0)
            for row in before
            if (row.namespace, row.kind, row.name) not in now
        ]
        if changed := [row for row in rows if row not in before] + gone:
            _print(changed, place, which, output, edge)


def _print(
    rows: Sequence[JobRow], place: str, which: ListFilter, output: Output, edge: Edge
) -> None:
    if output.output == "json":
        edge.out(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n")
    elif not rows:
        edge.notify(f"no jobs of dlf {place}")
    else:
        edge.out(text(rows, datetime.datetime.now(datetime.UTC), namespaces=which.all_namespaces))


def text(rows: Sequence[JobRow], now: datetime.datetime, *, namespaces: bool) -> str:
    """The table; with a column of namespaces when there are several."""
    head = ("KIND", "NAME", "STATE", "RUNNING", "AGE", "TASK")
    cells = [
        (r.kind, r.name, r.state, f"{r.running}/{r.total}", age(r.created, now), r.task)
        for r in rows
    ]
    if not namespaces:
        return table(head, cells)
    return table(
        ("NAMESPACE", *head),
        [(row.namespace, *cell) for row, cell in zip(rows, cells, strict=True)],
    )
