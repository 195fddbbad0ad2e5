"""`dlf check FRAMEWORK`: would this cluster run the task? Nothing is created."""

from collections.abc import Sequence

import msgspec

from dlf.commands import train
from dlf.commands.cluster import connect
from dlf.commands.invocation import (
    CheckRun,
    Invocation,
    ignored_flags,
    parse,
    require_image,
)
from dlf.commands.table import table
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError, nearest
from dlf.frameworks import SUMMARIES, load_framework
from dlf.preflight.checks import CheckLine, Result, check


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print a table of what was looked at; 3 when something stands in the way.

    The flags are those of `dlf FRAMEWORK`.
    """
    if not argv or argv[0] in {"-h", "--help"}:
        edge.out("Usage:\n  dlf check FRAMEWORK [flags of dlf FRAMEWORK]\n")
        return ExitCode.SUCCEEDED
    name, *rest = argv
    if name not in SUMMARIES:
        raise UsageError(f"unknown framework {name!r}", nearest(name, [*SUMMARIES]))
    if {"-h", "--help"} & set(rest):
        return train.run(load_framework(name), rest, edge)
    invocation = parse(load_framework(name), rest, edge.env, CheckRun)
    ignored = ignored_flags(invocation, check=True)
    for warning in filter(None, [*invocation.arguments.warnings, ignored]):
        edge.notify(warning)
    require_image(invocation, edge.env)
    lines: list[CheckLine] = edge.run(_lines(invocation, edge))
    if invocation.run.output == "json":
        edge.out(msgspec.json.format(msgspec.json.encode(lines), indent=2).decode() + "\n")
    else:
        edge.out(text(lines))
    failed = any(line.result is Result.FAILED for line in lines)
    return ExitCode.REJECTED if failed else ExitCode.SUCCEEDED


def text(lines: Sequence[CheckLine]) -> str:
    """The table; under each line with something to do, what that is."""
    rows = [(line.check, line.result.value, line.finding) for line in lines]
    head, *cells = table(("CHECK", "RESULT", "FOUND"), rows).splitlines()
    shown = [head]
    for line, row in zip(lines, cells, strict=True):
        shown.append(row)
        if line.remedy and line.result is not Result.OK:
            shown.append(f"  -> {line.remedy}")
    return "\n".join(shown) + "\n"


async def _lines(invocation: Invocation, edge: Edge) -> list[CheckLine]:
    async with connect(invocation.connection, edge) as (client, namespace):
        return await check(
            client,
            namespace,
            invocation.framework,
            invocation.task,
            backend=invocation.run.backend,
            suffix=edge.token(4),
        )
