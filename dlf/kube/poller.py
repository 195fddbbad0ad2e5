"""Many sockets, watched by the event loop as if they were one.

For each ready descriptor asyncio makes a key, a handle and a call in a context: several times the
price of reading a log line. Here all sockets are in one epoll, the loop watches that, and what is
ready is called in a plain loop.
"""

import asyncio
import select
from collections.abc import Callable
from weakref import WeakKeyDictionary


class Poller:
    """Calls back whose socket can be read, in the event loop that runs.

    There is no epoll while nothing is watched, so there is nothing to close.
    """

    def __init__(self) -> None:
        self._epoll: select.epoll | None = None
        self._callbacks: dict[int, Callable[[], None]] = {}

    def add(self, fd: int, on_readable: Callable[[], None]) -> None:
        """Call back whenever `fd`, which is not watched yet, can be read."""
        if self._epoll is None:
            self._epoll = select.epoll()
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._call)
        self._epoll.register(fd, select.EPOLLIN)
        self._callbacks[fd] = on_readable

    def remove(self, fd: int) -> None:
        """Do not call back for `fd`, which is watched, any more."""
        if self._epoll is None:
            return
        self._epoll.unregister(fd)
        del self._callbacks[fd]
        if not self._callbacks:
            asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    def _call(self) -> None:
        callbacks = self._callbacks
        for fd, _ in self._epoll.poll(0) if self._epoll else ():
            # One of them may have closed another.
            if on_readable := callbacks.get(fd):
                on_readable()


_POLLERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Poller] = WeakKeyDictionary()


def running_poller() -> Poller:
    """The poller of the running event loop."""
    loop = asyncio.get_running_loop()
    return _POLLERS.get(loop) or _POLLERS.setdefault(loop, Poller())
