"""Many sockets, watched by the event loop as if they were one.

For each ready descriptor asyncio makes a key, a handle and a call in a context: several times the
price of reading a log line. Here all sockets are in one epoll, the loop watches that, and what is
ready is called in a plain loop.
"""

import asyncio
import select
from collections.abc import Callable
from weakref import WeakKeyDictionary

BULK_INTERVAL_SECONDS = 0.025
"""A log of 0.5 MB/s, which is what an API server gives each of 20 readers, has 12 KB by then."""


class Poller:
    """Calls back whose socket can be read, in the event loop that runs.

    There is no epoll while nothing is watched, so there is nothing to close.

    Args:
        interval: seconds from when a socket can be read to when all that can be are called; 0 to
            call at once.
    """

    def __init__(self, interval: float = 0.0) -> None:
        self._interval = interval
        self._epoll: select.epoll | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._callbacks: dict[int, Callable[[], bool]] = {}

    def add(self, fd: int, on_readable: Callable[[], bool]) -> None:
        """Call back whenever `fd`, which is not watched yet, can be read.

        The callback says whether there may be more: then the next look follows at once.
        """
        if self._epoll is None:
            self._epoll = select.epoll()
            self._wait()
        self._epoll.register(fd, select.EPOLLIN)
        self._callbacks[fd] = on_readable

    def remove(self, fd: int) -> None:
        """Do not call back for `fd`, which is watched, any more."""
        if self._epoll is None:
            return
        self._epoll.unregister(fd)
        del self._callbacks[fd]
        if not self._callbacks:
            if self._timer:
                self._timer.cancel()
            asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    def _call(self) -> bool:
        """Call back; whether there may be more to read."""
        callbacks, more = self._callbacks, False
        for fd, _ in self._epoll.poll(0) if self._epoll else ():
            # One of them may have closed another.
            if on_readable := callbacks.get(fd):
                more |= on_readable()
        return more

    def _wait(self) -> None:
        """Wait until a socket can be read."""
        if self._epoll:
            ready = self._call_later if self._interval else self._call
            asyncio.get_running_loop().add_reader(self._epoll.fileno(), ready)

    def _call_later(self) -> None:
        """What comes in the interval is read with it."""
        loop = asyncio.get_running_loop()
        if self._epoll:
            loop.remove_reader(self._epoll.fileno())
        self._timer = loop.call_later(self._interval, self._call_all)

    def _call_all(self) -> None:
        if self._call():
            self._timer = asyncio.get_running_loop().call_later(0, self._call_all)
        else:
            self._wait()


class Pollers:
    """The pollers of an event loop.

    Attributes:
        prompt: for what has to be known at once.
        bulk: for what a server sends in small pieces while nobody waits for any one of them: a
            read every now and then takes many pieces together.
    """

    def __init__(self) -> None:
        self.prompt = Poller()
        self.bulk = Poller(BULK_INTERVAL_SECONDS)


_POLLERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Pollers] = WeakKeyDictionary()


def running_pollers() -> Pollers:
    """The pollers of the running event loop."""
    loop = asyncio.get_running_loop()
    return _POLLERS.get(loop) or _POLLERS.setdefault(loop, Pollers())
