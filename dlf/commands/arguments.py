"""How the commands beside the frameworks read their words: some names, then flags."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from dlf.edge import Edge
from dlf.errors import UsageError
from dlf.task import scalars
from dlf.task.flag import Flag, settings_of
from dlf.task.load import load, split
from dlf.task.settings import Connection


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which of several jobs of one name."""

    kind: Annotated[
        str, Flag("kind of the job, such as PyTorchJob; needed when two have its name")
    ] = ""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of which runtime."""

    runtime: Annotated[
        str,
        Flag(
            "jobs of a cluster, or those that ran on this machine",
            scalars.choice("kubernetes", "local"),
            metavar="kubernetes|local",
        ),
    ] = "kubernetes"

    @property
    def is_local(self) -> bool:
        """Jobs of this machine."""
        return self.runtime == "local"


_OF_A_CLUSTER = frozenset({"kind", "selector", "all_namespaces", "max_log_streams"}).union(
    setting.name for setting in settings_of(Connection)
)
"""Settings that have no effect on jobs of this machine."""


TextOrJson: TypeAlias = Annotated[
    str,
    Flag("a table, or JSON", scalars.choice("text", "json"), metavar="text|json", short="-o"),
]


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """In which form."""

    output: TextOrJson = "text"


def read(
    argv: Sequence[str],
    edge: Edge,
    usage: str,
    groups: Sequence[tuple[str, type[msgspec.Struct]]],
) -> tuple[list[str], list[Any]] | None:
    """The names, and a struct of each group; None when only the help was wanted, and printed.

    Args:
        argv: what follows the command.
        edge: the process.
        usage: the command, with a word in upper case for each name, in brackets when it may be left
            out, with dots when there may be more: `dlf delete JOB...`.
        groups: title and struct of each group of flags.

    Raises:
        UsageError: a wrong flag, or too many or too few names.
    """
    if {"-h", "--help"} & set(argv):
        from dlf.task.help import flags_text

        flags = f" [flags]\n\n{flags_text(groups, edge.width)}" if groups else "\n"
        edge.out(f"Usage:\n  {usage}{flags}")
        return None
    arguments = split(argv, *(group for _, group in groups))
    given = arguments.positional
    names = [word for word in usage.split() if word.strip("[].").isupper()]
    most = len(given) if usage.endswith("...") else len(names)
    least = sum(1 for name in names if not name.startswith("["))
    if len(given) > most:
        raise UsageError(f"unexpected argument {given[most]!r}", f"write {usage}")
    if len(given) < least:
        raise UsageError(f"{names[len(given)].rstrip('.')} is missing", f"write {usage}")
    loaded = [load(group, arguments, edge.env) for _, group in groups]
    if any(isinstance(each, Where) and each.is_local for each in loaded):
        useless = [texts[-1][0] for name, texts in arguments.flags.items() if name in _OF_A_CLUSTER]
        if useless:
            verb = "has" if len(useless) == 1 else "have"
            edge.notify(f"{', '.join(useless)} {verb} no effect with --runtime local")
    return given, loaded
