"""Tells the job's other pods that the first pod's command has ended, so that they end, too."""

from collections.abc import Callable, Sequence

from dlf.worker import remote_protocol as protocol
from dlf.worker.loop import Loop
from dlf.worker.remote_client import RemoteCommand
from dlf.worker.remote_connect import Unreachable, connect


def notify_finished(
    hosts: Sequence[str],
    port: int,
    key: bytes,
    code: int,
    limit: float,
    notify: Callable[[str], None],
) -> None:
    """Tell every pod; one that cannot be reached ends when the job is deleted.

    Args:
        hosts: the other pods.
        port: of `--remote`.
        key: from `derive_key`.
        code: exit code of the command.
        limit: seconds for each step, connecting and waiting for answers.
        notify: prints a line of dlf's own.
    """
    loop = Loop()
    waiting = 0
    for host in hosts:
        try:
            connection = connect(host, port, key, limit if not waiting else 0.0)
        except Unreachable as error:
            notify(
                f"{error}; so that pod does not know that the command has ended, and runs until"
                " the job ends"
            )
            continue
        waiting += 1

        def ended(_code: int) -> None:
            nonlocal waiting
            waiting -= 1

        RemoteCommand(
            loop, connection, bytes([code & 0xFF]), _ignore_output, ended, protocol.FINISH
        )
    loop.call_later(limit, loop.stop)
    expired: list[bool] = []
    loop.call_later(limit, lambda: expired.append(True))
    while waiting and not expired:
        loop.run_once(None)


def _ignore_output(_kind: bytes, _data: bytes) -> None:
    """A FINISH frame is answered by an exit code only."""
