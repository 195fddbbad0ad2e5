"""Waiting for what another process or thread does, however busy the machine is."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds until what should happen at once counts as not happening."""


def until(found: Callable[[], T]) -> T:
    """What this returns, as soon as it returns something true."""
    deadline = time.monotonic() + PATIENCE
    while not (thing := found()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)
    return thing


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Do work in a thread beside the block, which waits for its end."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    thread.join(2 * PATIENCE)
