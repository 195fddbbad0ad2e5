"""`dlf FRAMEWORK`: render, then print, run on this machine, or run in a cluster."""

import os.path
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode, UsageError
from dlf.frameworks.framework import Framework, candidates
from dlf.job.outcome import Outcome
from dlf.manifest.manifest import Manifest, to_text
from dlf.task.flag import settings_of
from dlf.task.load import Arguments, load, split
from dlf.task.options import Connection, Lifecycle, Logs, Run, Task

GROUPS = (
    ("Where and how to run", Run),
    ("Earlier jobs, stops, time limits", Lifecycle),
    ("Logs", Logs),
    ("Cluster", Connection),
)
"""The flags that every framework has beside its own."""

_TERMINATION_LOG = "/dev/termination-log"  # kubelet's default terminationMessagePath


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed command."""

    framework: Framework
    task: Task
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


def run(framework: Framework, argv: Sequence[str], edge: Edge) -> ExitCode:
    """Run the command."""
    if {"-h", "--help"} & set(argv):
        from dlf.usage import of_framework

        edge.out(of_framework(framework, GROUPS, edge.width))
        return ExitCode.SUCCEEDED
    asked = parse(framework, argv, edge.env)
    _check_report(asked.lifecycle.report)
    if asked.run.runtime == "local" and not asked.run.dry_run:
        return _finish(_locally(asked, edge), asked, edge)
    if not asked.task.image and asked.run.runtime == "kubernetes":
        flag = next(s.option for s in settings_of(framework.settings) if s.name == "image")
        raise UsageError("no image to train in", f"give {flag}, or set KFJ_TASK_IMAGES")
    if asked.run.dry_run == "client":
        edge.out(to_text(_rendered(asked, edge), asked.run.output))
        return ExitCode.SUCCEEDED
    from dlf.commands.training import train, validated

    if asked.run.dry_run == "server":
        edge.out(to_text(edge.drive(validated(asked, edge)), asked.run.output))
        return ExitCode.SUCCEEDED
    return _finish(train(asked, edge), asked, edge)


def _check_report(path: str) -> None:
    """A report that cannot be written is better known before the training than after it."""
    if path:
        try:
            open(path, "ab").close()  # noqa: PTH123 - as in _write
        except OSError as error:
            raise UsageError(f"--report={path!r}: {error.strerror}") from None


def _rendered(asked: Invocation, edge: Edge) -> Manifest:
    """The resource without a cluster to ask: the preferred kind."""
    kind = candidates(asked.framework, asked.run.backend)[0]
    manifest = asked.framework.render(asked.task, kind, edge.token(4))
    if not asked.connection.namespace:
        return manifest
    metadata = msgspec.structs.replace(manifest.metadata, namespace=asked.connection.namespace)
    return msgspec.structs.replace(manifest, metadata=metadata)


async def _locally(asked: Invocation, edge: Edge) -> Outcome:
    from dlf.commands.printing import log_options
    from dlf.local.run import run as run_locally

    return await run_locally(
        _rendered(asked, edge),
        env=edge.env,
        working_dir=asked.task.working_dir if "working_dir" in asked.arguments.flags else "",
        stdout=edge.stdout,
        log_options=partial(log_options, asked.logs, edge),
        timeout=asked.lifecycle.timeout,
        lead=asked.framework.lead,
        strict=asked.lifecycle.strict,
        say=edge.say,
    )


def _finish(work: Coroutine[Any, Any, Outcome], asked: Invocation, edge: Edge) -> ExitCode:
    """Run the job, and tell its outcome everywhere it is wanted; an error, too, has one."""
    from dlf.job import report

    try:
        outcome: Outcome = edge.drive(work)
    except DlfError as error:
        _tell(report.of_error(error), asked, edge)
        raise
    for line in report.block(outcome):
        edge.say(line)
    _tell(outcome, asked, edge)
    return outcome.code


def _tell(outcome: Outcome, asked: Invocation, edge: Edge) -> None:
    from dlf.job import report

    if asked.lifecycle.report:
        _write(asked.lifecycle.report, report.to_json(outcome), edge)
    if os.path.exists(_TERMINATION_LOG):  # noqa: PTH110 - as below
        _write(_TERMINATION_LOG, report.termination_message(outcome), edge)


def _write(path: str, content: bytes, edge: Edge) -> None:
    try:
        with open(path, "wb") as file:  # noqa: PTH123 - pathlib would be loaded for this alone
            file.write(content)
    except OSError as error:
        edge.say(f"cannot write {path}: {error.strerror}")
