"""`dlf stacks JOB`: where every rank stands; `dlf stacks --here`: this container's processes."""

import os
from collections.abc import Sequence

from dlf.commands.arguments import Selection, read
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.task.settings import Connection

GROUPS = (("Job", Selection), ("Cluster", Connection))


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print it; 0 when at least one pod has answered."""
    if list(argv) == ["--here"]:
        import json

        from dlf.worker.process_states import process_states

        edge.out(json.dumps(process_states(os.getpid())) + "\n")
        return ExitCode.SUCCEEDED
    parsed = read(argv, edge, "dlf stacks JOB", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    (name,), (selection, connection) = parsed
    lines: list[str] = edge.run(_show(name, selection, connection, edge))
    edge.out("".join(f"{line}\n" for line in lines))
    return ExitCode.SUCCEEDED if lines else ExitCode.FAILED


async def _show(name: str, selection: Selection, connection: Connection, edge: Edge) -> list[str]:
    from dlf.commands.cluster import connect
    from dlf.inspect.stack_report import report
    from dlf.inspect.worker_pods import read_process_states

    async with connect(connection, edge) as (client, namespace):
        return report(
            await read_process_states(client, namespace, name, selection.kind, edge.notify)
        )
