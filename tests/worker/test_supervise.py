"""What happens between the wait for the peers and the first process."""

import os
import signal
from collections.abc import Iterator

import pytest

from dlf.worker.children import Child
from dlf.worker.loop import Loop
from dlf.worker.processes import Processes
from dlf.worker.supervise import FORWARDED, Supervisor


@pytest.fixture
def handlers() -> Iterator[None]:
    """This process's own signal handlers are back when the test ends."""
    before = {number: signal.getsignal(number) for number in (*FORWARDED, signal.SIGCHLD)}
    yield
    signal.set_wakeup_fd(-1)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_a_signal_before_the_start_starts_nothing() -> None:
    """The end is told all the same: nobody waits for processes that were never started."""
    loop = Loop()
    processes = Processes(loop, 1.0, FORWARDED)
    said: list[str] = []
    supervisor = Supervisor(loop, processes, said.append)
    os.kill(os.getpid(), signal.SIGTERM)
    supervisor.start([Child(0, ["/bin/false"], {})], loop.stop)
    loop.run()
    assert (143, [], False) == (supervisor.code, said, bool(processes))
