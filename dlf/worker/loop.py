"""An event loop of one thread: descriptors, timers, signals.

asyncio would hold four megabytes more for as long as the training runs.
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
    """Calls back for descriptors, timers and signals; `run` returns after `stop`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._running = True
        self._on_signal: Callable[[], None] = lambda: None
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.watch(self._wake, READ, self._woken)

    def on_signal(self, call: Callable[[], None]) -> None:
        """Call this after the handler of any signal has run."""
        self._on_signal = call

    def watch(self, descriptor: int, events: int, call: Callable[[], object]) -> None:
        """Call back whenever the descriptor is ready; replaces an earlier callback for it."""
        try:
            self._selector.modify(descriptor, events, call)
        except KeyError:
            self._selector.register(descriptor, events, call)

    def unwatch(self, descriptor: int) -> None:
        """Stop watching a descriptor; do this before it is closed."""
        with suppress(KeyError):
            self._selector.unregister(descriptor)

    def call_later(self, seconds: float, call: Callable[[], object]) -> None:
        """Call once, after this many seconds."""
        self._count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._count, call))

    def stop(self) -> None:
        """Let `run` return."""
        self._running = False

    def run(self) -> None:
        """Wait and call back until `stop` is called."""
        while self._running:
            self.run_once(None)

    def run_once(self, seconds: float | None) -> bool:
        """Wait for events, at most this long if not None; return whether a descriptor was ready."""
        if self._timers:
            due = max(self._timers[0][0] - time.monotonic(), 0.0)
            seconds = due if seconds is None else min(seconds, due)
        ready = self._selector.select(seconds)
        for key, _ in ready:
            # An earlier callback may have removed or replaced this one.
            if self._selector.get_map().get(key.fd) is key:
                key.data()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        return bool(ready)

    def _woken(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
        self._on_signal()
