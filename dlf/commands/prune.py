"""`dlf prune --older_than TIME`: delete the jobs of dlf that ended long ago."""

import asyncio
import datetime
from collections.abc import Sequence
from typing import Annotated

import msgspec

from dlf.commands.arguments import Where, read
from dlf.commands.cluster import connect
from dlf.commands.table import age
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError
from dlf.frameworks import job_state
from dlf.inspect.lookup import FoundJob, dlf_jobs
from dlf.job.ending import RULES, Cause
from dlf.job.stop import delete
from dlf.manifest.observed import Job
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Connection

_MAX_DELETIONS = 16  # at the same time


class PruneFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs."""

    older_than: Annotated[
        float,
        Flag("delete the jobs that ended longer ago than this", scalars.duration, metavar="TIME"),
    ] = 0.0
    dry_run: Annotated[
        bool,
        Flag("only name them", scalars.switch, name="dry-run", form="switch"),
    ] = False


GROUPS = (("Which jobs", PruneFilter), ("Where they ran", Where), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Delete them; 124 when something of one is still there after a minute."""
    parsed = read(argv, edge, "dlf prune", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    which, where, connection = parsed[1]
    if not which.older_than:
        raise UsageError("--older_than is missing", "write dlf prune --older_than TIME, such as 7d")
    gone: bool
    gone = (
        _prune_local(which, edge) if where.is_local else edge.run(_prune(which, connection, edge))
    )
    return ExitCode.SUCCEEDED if gone else ExitCode.TIMEOUT


async def _prune(which: PruneFilter, connection: Connection, edge: Edge) -> bool:
    now = datetime.datetime.now(datetime.UTC)
    limit = asyncio.Semaphore(_MAX_DELETIONS)
    async with connect(connection, edge) as (client, namespace):

        async def remove(found: FoundJob) -> bool:
            async with limit:
                return await delete(client, *found, edge.notify, RULES[Cause.TIMEOUT].stop_seconds)

        oldest = now - datetime.timedelta(seconds=which.older_than)
        old = [
            (kind, job)
            for kind, job in await dlf_jobs(client, namespace)
            if (ended := ended_at(job)) and datetime.datetime.fromisoformat(ended) < oldest
        ]
        _announce(
            [(f"{kind.title} {job.metadata.name}", ended_at(job)) for kind, job in old], which, edge
        )
        if which.dry_run:
            return True
        return all(await asyncio.gather(*map(remove, old)))


def _prune_local(which: PruneFilter, edge: Edge) -> bool:
    from dlf.local.recorder import state_directory
    from dlf.local.removal import delete_run
    from dlf.local.stored_runs import stored_runs

    oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=which.older_than)
    old = [
        (run, ended)
        for run in stored_runs(state_directory(edge.env))
        if (ended := run.ended_at()) and ended < oldest
    ]
    _announce([(run.name, ended.isoformat()) for run, ended in old], which, edge)
    gone = [which.dry_run or delete_run(run, edge.notify) for run, _ in old]
    return all(gone)


def _announce(old: Sequence[tuple[str, str]], which: PruneFilter, edge: Edge) -> None:
    """Say that there are none, or with `--dry-run` which there are: names, and times of the end."""
    if not old:
        edge.notify("no job ended as long ago as that")
    now = datetime.datetime.now(datetime.UTC)
    for name, time in old if which.dry_run else ():
        edge.notify(f"would delete {name}, ended {age(time, now)} ago")


def ended_at(job: Job) -> str:
    """RFC 3339 time of the job's end; "" while it runs, or is being deleted."""
    if job.metadata.deletion_timestamp or not job_state(job).phase.final:
        return ""
    status = job.status
    if status and status.completion_time:
        return status.completion_time
    times = [each.last_transition_time for each in (status.conditions if status else None) or ()]
    return max(filter(None, times), default="") or job.metadata.creation_timestamp
