"""`dlf list`: the jobs that dlf submitted in a namespace."""

import datetime
from collections.abc import Sequence

import msgspec

from dlf.commands.arguments import Output, read
from dlf.commands.cluster import connect
from dlf.commands.table import age, table
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.views import JobRow, list_jobs
from dlf.task.settings import Connection

GROUPS = (("Output", Output), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them, the newest first."""
    parsed = read(argv, edge, "dlf list", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    output, connection = parsed[1]
    rows: list[JobRow] = edge.run(_rows(connection, edge))
    if output.output == "json":
        edge.out(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n")
        return ExitCode.SUCCEEDED
    if not rows:
        edge.notify("no jobs of dlf in this namespace")
        return ExitCode.SUCCEEDED
    now = datetime.datetime.now(datetime.UTC)
    head = ("KIND", "NAME", "STATE", "RUNNING", "AGE", "TASK")
    edge.out(
        table(
            head,
            [
                (r.kind, r.name, r.state, f"{r.running}/{r.total}", age(r.created, now), r.task)
                for r in rows
            ],
        )
    )
    return ExitCode.SUCCEEDED


async def _rows(connection: Connection, edge: Edge) -> list[JobRow]:
    async with connect(connection, edge) as (client, namespace):
        return await list_jobs(client, namespace)
