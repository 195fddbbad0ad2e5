"""The first pod's last words: the command has ended, so the other pods need not serve it more."""

from collections.abc import Callable, Sequence

from dlf.worker import channel
from dlf.worker.client import Remote, Unreachable, connect
from dlf.worker.loop import Loop


def finish(
    hosts: Sequence[str],
    port: int,
    key: bytes,
    code: int,
    limit: float,
    say: Callable[[str], None],
) -> None:
    """Tell every pod; one that cannot be told is removed with the job."""
    loop = Loop()
    waiting = 0
    for host in hosts:
        try:
            connection = connect(host, port, key, limit if not waiting else 0.0)
        except Unreachable as error:
            say(f"it is not told that the command has ended: {error}")
            continue
        waiting += 1

        def ended(_code: int) -> None:
            nonlocal waiting
            waiting -= 1

        Remote(loop, connection, bytes([code & 0xFF]), _nothing, ended, channel.FINISH)
    loop.later(limit, loop.stop)
    late: list[bool] = []
    loop.later(limit, lambda: late.append(True))
    while waiting and not late:
        loop.turn(None)


def _nothing(_kind: bytes, _data: bytes) -> None:
    """A pod that ends has no output."""
