"""What a single-threaded process waits for: descriptors, times, signals.

asyncio does this too, and takes four megabytes more for the whole time of a training.
"""

import heapq
import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import suppress

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class Loop:
    """Calls back when something happens; `run` until `stop`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._running = True
        self._signalled: Callable[[], None] = lambda: None
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.watch(self._wake, READ, self._woken)

    def on_signal(self, call: Callable[[], None]) -> None:
        """Call this after any signal that has a handler."""
        self._signalled = call

    def watch(self, descriptor: int, events: int, call: Callable[[], object]) -> None:
        """Call when the descriptor is ready, in place of what was watched of it before."""
        try:
            self._selector.modify(descriptor, events, call)
        except KeyError:
            self._selector.register(descriptor, events, call)

    def forget(self, descriptor: int) -> None:
        """Watch it no more; do this before it is closed."""
        with suppress(KeyError):
            self._selector.unregister(descriptor)

    def later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call once, in so many seconds."""
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, call))

    def stop(self) -> None:
        """Let `run` return."""
        self._running = False

    def run(self) -> None:
        """Wait and call back until `stop` is called."""
        while self._running:
            self.turn(None)

    def turn(self, seconds: float | None) -> bool:
        """Wait at most so long for something; return whether a descriptor was ready."""
        if self._timers:
            due = max(self._timers[0][0] - time.monotonic(), 0.0)
            seconds = due if seconds is None else min(seconds, due)
        ready = self._selector.select(seconds)
        for key, _ in ready:
            # One callback may have ended what another was for.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        return bool(ready)

    def _woken(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
        self._signalled()
