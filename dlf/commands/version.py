"""`dlf version`."""

from collections.abc import Sequence

from dlf import build_info
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print the version, with `--output json` that of every part."""
    match [word for given in argv for word in given.split("=")]:
        case [] | ["--output", "text"]:
            edge.out(build_info.text())
        case ["--output", "json"]:
            import json

            edge.out(json.dumps(build_info.parts(), indent=2) + "\n")
        case _:
            raise UsageError(f"unexpected argument {argv[0]!r}", "write --output json, or nothing")
    return ExitCode.SUCCEEDED
