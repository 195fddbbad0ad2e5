"""`dlf version`."""

from collections.abc import Sequence

from dlf import build_info
from dlf.edge import Edge
from dlf.errors import ExitCode


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Print the version, with `--output json` that of every part.

    Without words nothing is loaded that reads them: this is what probes and scripts call.
    """
    if argv:
        from dlf.commands.arguments import Output, read

        parsed = read(argv, edge, "dlf version", (("Output", Output),))
        if parsed is None:
            return ExitCode.SUCCEEDED
        if parsed[1][0].output == "json":
            import json

            edge.out(json.dumps(build_info.parts(), indent=2) + "\n")
            return ExitCode.SUCCEEDED
    edge.out(build_info.text())
    return ExitCode.SUCCEEDED
