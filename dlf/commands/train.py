"""`dlf FRAMEWORK`: render, then print, run on this machine, or run in a cluster."""

import os.path
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from dlf.commands.invocation import (
    GROUPS,
    Invocation,
    ignored_flags,
    parse,
    require_image,
)
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode, UsageError
from dlf.frameworks.framework import Framework, candidates
from dlf.manifest.manifest import Manifest, to_text
from dlf.task.worker_flags import LOCAL_IMAGE

if TYPE_CHECKING:
    from dlf.outcome.outcome import Outcome

_TERMINATION_LOG = "/dev/termination-log"  # kubelet's default terminationMessagePath


def run(framework: Framework, argv: Sequence[str], edge: Edge) -> ExitCode:
    """Run the command."""
    if {"-h", "--help"} & set(argv):
        from dlf.usage import of_framework

        edge.out(of_framework(framework, GROUPS, edge.width))
        return ExitCode.SUCCEEDED
    invocation = parse(framework, argv, edge.env)
    for warning in filter(None, [*invocation.arguments.warnings, ignored_flags(invocation)]):
        edge.notify(warning)
    if invocation.run.runtime == "local" and not invocation.run.dry_run:
        _check_writable(invocation.lifecycle.report)
        return _finish(_locally(invocation, edge), invocation, edge)
    if invocation.run.runtime == "kubernetes":
        require_image(invocation, edge.env)
    return execute(invocation, edge)


def execute(invocation: Invocation, edge: Edge) -> ExitCode:
    """Print the resource, have it checked, submit it, or run it in the cluster to its end."""
    if invocation.run.dry_run == "client":
        edge.out(to_text(_rendered(invocation, edge), invocation.run.output))
        return ExitCode.SUCCEEDED
    from dlf.commands.cluster_training import submit_only, train, validated

    if invocation.run.dry_run == "server":
        edge.out(to_text(edge.run(validated(invocation, edge)), invocation.run.output))
        return ExitCode.SUCCEEDED
    if invocation.run.detach:
        edge.out(f"{edge.run(submit_only(invocation, edge))}\n")
        return ExitCode.SUCCEEDED
    _check_writable(invocation.lifecycle.report)
    return _finish(train(invocation, edge), invocation, edge)


def _check_writable(path: str) -> None:
    """Find out before the training, not after it, that a report cannot be written."""
    if path:
        try:
            open(path, "ab").close()  # noqa: PTH123 - as in _write
        except OSError as error:
            raise UsageError(f"--report={path!r} cannot be written: {error.strerror}") from None


def _rendered(invocation: Invocation, edge: Edge) -> Manifest:
    """The resource, of the kind that is preferred when no cluster is asked."""
    kind = candidates(invocation.framework, invocation.run.backend)[0]
    task = invocation.task
    if invocation.run.runtime == "local":
        # Nothing is copied: this dlf is the worker, whatever image the resource names.
        task = msgspec.structs.replace(task, worker_image=LOCAL_IMAGE)
    manifest = invocation.framework.manifest(task, kind, edge.token(4))
    if not invocation.connection.namespace:
        return manifest
    metadata = msgspec.structs.replace(manifest.metadata, namespace=invocation.connection.namespace)
    return msgspec.structs.replace(manifest, metadata=metadata)


async def _locally(invocation: Invocation, edge: Edge) -> "Outcome":
    from dlf.commands.printing import check_ranks, log_options
    from dlf.local.run import run as run_locally

    return await run_locally(
        _rendered(invocation, edge),
        env=edge.env,
        working_dir=invocation.task.working_dir
        if "working_dir" in invocation.arguments.flags
        else "",
        stdout=edge.stdout,
        footer=edge.footer,
        show_status=edge.show_status,
        log_options=log_options(invocation.logs, edge),
        check_ranks=partial(check_ranks, invocation.logs, edge),
        timeout=invocation.lifecycle.timeout,
        leader=invocation.framework.leader,
        strict=invocation.lifecycle.strict,
        notify=edge.notify,
    )


def _finish(work: "Coroutine[Any, Any, Outcome]", invocation: Invocation, edge: Edge) -> ExitCode:
    """Run the job and publish its outcome: on stderr, as a report, as the termination message.

    An error has an outcome, too.
    """
    from dlf.outcome import report

    try:
        outcome: Outcome = edge.run(work)
    except DlfError as error:
        _publish(report.of_error(error), invocation, edge)
        raise
    for line in report.block(outcome):
        edge.notify(line)
    _publish(outcome, invocation, edge)
    return outcome.code


def _publish(outcome: "Outcome", invocation: Invocation, edge: Edge) -> None:
    from dlf.outcome import report

    if invocation.lifecycle.report:
        _write(invocation.lifecycle.report, report.to_json(outcome), edge)
    if os.path.exists(_TERMINATION_LOG):  # noqa: PTH110 - as below
        _write(_TERMINATION_LOG, report.termination_message(outcome), edge)


def _write(path: str, content: bytes, edge: Edge) -> None:
    try:
        with open(path, "wb") as file:  # noqa: PTH123 - pathlib would be loaded for this alone
            file.write(content)
    except OSError as error:
        edge.notify(f"cannot write {path}: {error.strerror}")
