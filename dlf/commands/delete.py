"""`dlf delete JOB...`: delete jobs, and wait until nothing of them is left."""

import asyncio
from collections.abc import Sequence

from dlf.commands.arguments import Selection, Where, read
from dlf.commands.cluster import connect
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.lookup import get_one
from dlf.job.ending import RULES, Cause
from dlf.job.stop import delete
from dlf.task.settings import Connection

GROUPS = (("Job", Selection), ("Where it runs", Where), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Delete them; 124 when something of them is still there after a minute.

    Nothing is deleted when one of the names is wrong.
    """
    parsed = read(argv, edge, "dlf delete JOB...", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    names, (selection, where, connection) = parsed
    deleted: bool
    if where.is_local:
        deleted = _delete_local([*dict.fromkeys(names)], edge)
    else:
        deleted = edge.run(_delete(names, selection, connection, edge))
    return ExitCode.SUCCEEDED if deleted else ExitCode.TIMEOUT


def _delete_local(names: Sequence[str], edge: Edge) -> bool:
    from dlf.local.recorder import state_directory
    from dlf.local.removal import delete_run
    from dlf.local.stored_runs import find_run

    directory = state_directory(edge.env)
    runs = [find_run(directory, name) for name in names]
    gone = [delete_run(run, edge.notify) for run in runs]  # all of them, whatever comes of one
    return all(gone)


async def _delete(
    names: Sequence[str], selection: Selection, connection: Connection, edge: Edge
) -> bool:
    async with connect(connection, edge) as (client, namespace):
        found = [await get_one(client, namespace, name, selection.kind) for name in names]
        limit = RULES[Cause.TIMEOUT].stop_seconds
        gone = await asyncio.gather(
            *(delete(client, kind, job, edge.notify, limit) for kind, job in found)
        )
        return all(gone)
