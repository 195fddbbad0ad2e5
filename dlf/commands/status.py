"""`dlf status JOB`: one job, with all that explains its state."""

import datetime
from collections.abc import Sequence

import msgspec

from dlf.commands.arguments import Output, Selection, read
from dlf.commands.cluster import connect
from dlf.commands.table import age, table
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.job.lookup import one
from dlf.job.view import Status, status
from dlf.task.options import Connection

_GROUPS = (("Job", Selection), ("Output", Output), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print it."""
    asked = read(argv, edge, "dlf status JOB", _GROUPS)
    if asked is None:
        return ExitCode.SUCCEEDED
    (name,), (selection, output, connection) = asked
    found: Status = edge.drive(_status(name, selection, connection, edge))
    if output.output == "json":
        edge.out(msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n")
    else:
        edge.out(text(found, datetime.datetime.now(datetime.UTC)))
    return ExitCode.SUCCEEDED


def text(found: Status, now: datetime.datetime) -> str:
    """The status for people: a headline, then a table each of pods, conditions and events."""
    job = found.job
    since = age(job.created, now)
    parts = [
        f"{job.kind} {job.name} in namespace {found.namespace}: {job.state}"
        + (f" ({found.reason})" if found.reason else "")
        + f"\n{job.ready} of {job.total} pods running, {since} old"
        + (f", task {job.task}" if job.task else "")
        + "\n"
    ]
    if found.pods:
        rows = [
            (
                pod.name,
                "" if pod.rank is None else str(pod.rank),
                str(pod.restarts),
                pod.node,
                pod.state,
            )
            for pod in found.pods
        ]
        parts.append(table(("POD", "RANK", "RESTARTS", "NODE", "STATE"), rows))
    if found.conditions:
        rows = [
            (each.type, each.status, age(each.since, now), each.reason, each.message)
            for each in found.conditions
        ]
        parts.append(table(("CONDITION", "STATUS", "AGE", "REASON", "MESSAGE"), rows))
    if found.events:
        rows = [
            (age(each.time, now), each.type, each.object, each.reason, each.message)
            for each in found.events
        ]
        parts.append(table(("AGE", "TYPE", "EVENT OF", "REASON", "MESSAGE"), rows))
    return "\n".join(parts)


async def _status(name: str, selection: Selection, connection: Connection, edge: Edge) -> Status:
    async with connect(connection, edge) as (client, namespace):
        return await status(client, namespace, await one(client, namespace, name, selection.kind))
