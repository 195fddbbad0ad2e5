"""Named timers of one event loop."""

import asyncio
from collections.abc import Callable


class Timers:
    """Each name stands for at most one timer that is running."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.TimerHandle] = {}

    def start(self, name: str, seconds: float, what: Callable[[], None]) -> None:
        """Call `what` in so many seconds; a timer of this name that runs already is left alone."""

        def ring() -> None:
            del self._running[name]
            what()

        if name not in self._running:
            loop = asyncio.get_running_loop()
            self._running[name] = loop.call_later(seconds, ring)

    def stop(self, *names: str) -> None:
        """Forget these timers; without names, all."""
        for name in names or tuple(self._running):
            timer = self._running.pop(name, None)
            if timer:
                timer.cancel()
