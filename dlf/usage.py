"""The texts of `dlf --help` and `dlf COMMAND --help`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dlf.errors import ExitCode

if TYPE_CHECKING:
    from dlf.frameworks.framework import Framework

ABOUT = (
    "dlf runs a distributed training job on Kubernetes: it renders the job's resource, submits it,"
    " follows the logs of all its pods, and exits with the job's result."
)
USAGE = {
    "dlf FRAMEWORK [flags]": "run a training job",
    "dlf FRAMEWORK --dry-run": "print its resource",
    "dlf FRAMEWORK --runtime local": "run it as processes on this machine",
    "dlf FRAMEWORK --help": "list the flags; so does dlf help FRAMEWORK",
}
_USAGE_COLUMN = 34
_NAME_COLUMN = 16

EXIT_CODES = {
    ExitCode.SUCCEEDED: "the job succeeded",
    ExitCode.FAILED: "the job failed",
    ExitCode.USAGE: "flags, environment or kubeconfig are wrong; nothing was sent",
    ExitCode.REJECTED: "the API server refused a request",
    ExitCode.CLUSTER_LOST: "the API server was out of reach for too long",
    ExitCode.DELETED: "the job was deleted by someone else",
    ExitCode.NOT_FOUND: "there is no job of the given name",
    ExitCode.BUG: "a bug in dlf",
    ExitCode.OUTPUT: "standard output could not be written",
    ExitCode.TIMEOUT: "--timeout, --start_timeout or --hang_timeout was reached",
    ExitCode.SIGINT: "stopped by SIGINT",
    ExitCode.SIGTERM: "stopped by SIGTERM",
}


def overview(frameworks: Mapping[str, str], commands: Mapping[str, str], width: int) -> str:
    """The text of `dlf --help`.

    Args:
        frameworks: name to summary.
        commands: the same of the other commands.
        width: columns of the terminal.
    """
    from dlf.task.help import table, wrapped

    codes = {str(int(code)): meaning for code, meaning in EXIT_CODES.items()}
    parts = ["\n".join(wrapped(ABOUT, width))]
    parts.append(f"Usage:\n{table(USAGE.items(), width, _USAGE_COLUMN)}")
    for title, rows in (
        ("Frameworks", frameworks),
        ("Other commands", commands),
        ("Exit codes", codes),
    ):
        parts.append(f"{title}:\n{table(rows.items(), width, _NAME_COLUMN)}")
    return "\n\n".join(parts) + "\n"


def of_framework(framework: "Framework", groups: Sequence[tuple[str, type]], width: int) -> str:
    """The text of `dlf FRAMEWORK --help`."""
    from dlf.frameworks import SUMMARIES
    from dlf.task.help import flags_text

    head = f"{SUMMARIES[framework.name]}\n\nUsage:\n  dlf {framework.name} [flags]\n\n"
    return head + flags_text([("Training", framework.settings), *groups], width)
