"""`dlf status JOB...`: jobs, with all that explains their state."""

import datetime
from collections.abc import Sequence

import msgspec

from dlf.commands.arguments import Output, Selection, Where, read
from dlf.commands.cluster import connect
from dlf.commands.table import age, table
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.inspect.lookup import get_one
from dlf.inspect.views import JobDetails, job_details
from dlf.task.settings import Connection

GROUPS = (
    ("Job", Selection),
    ("Where it runs", Where),
    ("Output", Output),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print them; JSON is one object for one job, a list for several."""
    parsed = read(argv, edge, "dlf status JOB...", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    names, (selection, where, output, connection) = parsed
    shown: list[JobDetails]
    if where.is_local:
        shown = _local_status(names, edge)
    else:
        shown = edge.run(_status(names, selection, connection, edge))
    if output.output == "json":
        value = shown[0] if len(shown) == 1 else shown
        edge.out(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
    else:
        now = datetime.datetime.now(datetime.UTC)
        edge.out("\n".join(text(each, now) for each in shown))
    return ExitCode.SUCCEEDED


def text(shown: JobDetails, now: datetime.datetime) -> str:
    """The status for people: a headline, then a table each of pods, conditions and events."""
    job = shown.job
    job_age = age(job.created, now)
    place = f"in namespace {shown.namespace}" if shown.namespace else "on this machine"
    parts = [
        f"{job.kind} {job.name} {place}: {job.state}"
        + (f" ({shown.reason})" if shown.reason else "")
        + f"\n{job.running} of {job.total} pods running, {job_age} old"
        + (f", task {job.task}" if job.task else "")
        + "\n"
    ]
    if shown.pods:
        rows = [
            (
                pod.name,
                "" if pod.rank is None else str(pod.rank),
                str(pod.restarts),
                pod.node,
                pod.state,
            )
            for pod in shown.pods
        ]
        parts.append(table(("POD", "RANK", "RESTARTS", "NODE", "STATE"), rows))
    if shown.conditions:
        rows = [
            (each.type, each.status, age(each.since, now), each.reason, each.message)
            for each in shown.conditions
        ]
        parts.append(table(("CONDITION", "STATUS", "AGE", "REASON", "MESSAGE"), rows))
    if shown.events:
        rows = [
            (age(each.time, now), each.type, each.object, each.reason, each.message)
            for each in shown.events
        ]
        parts.append(table(("AGE", "TYPE", "EVENT OF", "REASON", "MESSAGE"), rows))
    return "\n".join(parts)


def _local_status(names: Sequence[str], edge: Edge) -> list[JobDetails]:
    from dlf.inspect.local_views import run_details
    from dlf.local.recorder import state_directory
    from dlf.local.stored_runs import find_run

    directory = state_directory(edge.env)
    return [run_details(find_run(directory, name)) for name in names]


async def _status(
    names: Sequence[str], selection: Selection, connection: Connection, edge: Edge
) -> list[JobDetails]:
    async with connect(connection, edge) as (client, namespace):
        found = [await get_one(client, namespace, name, selection.kind) for name in names]
        return [await job_details(client, namespace, each) for each in found]
