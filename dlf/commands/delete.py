"""`dlf delete JOB`: delete a job, and wait until nothing of it is left."""

from collections.abc import Sequence

from dlf.commands.arguments import Selection, read
from dlf.commands.cluster import connect
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.lookup import get_one
from dlf.job.ending import RULES, Cause
from dlf.job.stop import delete
from dlf.task.settings import Connection

GROUPS = (("Job", Selection), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Delete it; 124 when something of it is still there after a minute."""
    parsed = read(argv, edge, "dlf delete JOB", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    (name,), (selection, connection) = parsed
    deleted: bool = edge.run(_delete(name, selection, connection, edge))
    return ExitCode.SUCCEEDED if deleted else ExitCode.TIMEOUT


async def _delete(name: str, selection: Selection, connection: Connection, edge: Edge) -> bool:
    async with connect(connection, edge) as (client, namespace):
        kind, job = await get_one(client, namespace, name, selection.kind)
        return await delete(client, kind, job, edge.notify, RULES[Cause.TIMEOUT].stop_seconds)
