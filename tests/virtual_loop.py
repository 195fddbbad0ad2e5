"""An event loop with a clock of its own: hours of waiting pass in no time, over real sockets.

Time stands still while anything can go on. When nothing can, it jumps to the next timer. What
counts as going on: a ready socket, a job in a thread, a running subprocess.
"""

import asyncio
import selectors
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

from typing_extensions import override

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

GRACE = 0.001
"""Real seconds that the kernel gets to deliver what one loopback socket sent to another."""


class _Loopback:
    """A connection to ourselves. What comes through it comes after all that was sent before.

    On a busy machine the kernel leaves packets of the loopback device to a thread of its own, for
    longer than any grace; but it delivers them in their order.
    """

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._near = socket.create_connection(listener.getsockname())
            self._far, _ = listener.accept()
        self._near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def flush(self) -> None:
        self._near.send(b".")
        self._far.recv(1)

    def close(self) -> None:
        self._near.close()
        self._far.close()


class _Selector(selectors.DefaultSelector):
    """Turns waiting for a timer into a jump of the loop's clock."""

    loop: "VirtualLoop"

    def __init__(self) -> None:
        super().__init__()
        self._loopback = _Loopback()

    @override
    def close(self) -> None:
        super().close()
        self._loopback.close()

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or self.loop.busy:
            return super().select(None)
        self._loopback.flush()
        ready = super().select(GRACE)
        if not ready:
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop.

    Attributes:
        now: seconds since the loop was made.
        busy: things going on outside the loop; while there are any, time stands still.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.busy = 0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    @override
    def time(self) -> float:
        return self.now

    @override
    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        job = super().run_in_executor(executor, func, *args)
        self._count(job)
        return job

    @override
    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        transport, protocol = await super().subprocess_exec(*args, **kwargs)
        self._count(self.create_task(transport._wait()))  # type: ignore[attr-defined]
        return transport, protocol

    @override
    async def shutdown_default_executor(self, *args: Any) -> None:
        self.busy += 1
        await super().shutdown_default_executor(*args)

    def _count(self, outside: asyncio.Future[Any]) -> None:
        self.busy += 1
        outside.add_done_callback(self._idle)

    def _idle(self, _: object) -> None:
        self.busy -= 1


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a virtual loop, as `asyncio.run` does on a real one."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
