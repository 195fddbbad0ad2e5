"""`dlf FRAMEWORK [flags]`, parsed: what `train` and `check` work on."""

from collections.abc import Mapping, Sequence

import msgspec

from dlf.errors import UsageError
from dlf.frameworks.framework import Framework
from dlf.task.load import Arguments, load, split
from dlf.task.settings import Connection, Lifecycle, Logs, Run, TaskSettings

GROUPS = (
    ("Where and how to run", Run),
    ("Earlier jobs, stops, time limits", Lifecycle),
    ("Logs", Logs),
    ("Cluster", Connection),
)
"""The flags that every framework has beside its own."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed command."""

    framework: Framework
    task: TaskSettings
    run: Run
    lifecycle: Lifecycle
    logs: Logs
    connection: Connection
    arguments: Arguments


def parse(framework: Framework, argv: Sequence[str], env: Mapping[str, str]) -> Invocation:
    """The command as values.

    Raises:
        UsageError: one line that says what is wrong.
    """
    arguments = split(argv, framework.settings, *(group for _, group in GROUPS))
    if arguments.positional:
        raise UsageError(f"unexpected argument {arguments.positional[0]!r}", "flags begin with --")
    return Invocation(
        framework=framework,
        task=load(framework.settings, arguments, env),
        run=load(Run, arguments, env),
        lifecycle=load(Lifecycle, arguments, env),
        logs=load(Logs, arguments, env),
        connection=load(Connection, arguments, env),
        arguments=arguments,
    )
