"""Makes one rank of an example fail while it trains, when FAULT says how; Python imports this.

FAULT is ``kill:RANK`` (as the kernel does when memory is short) or ``raise:RANK``, FAULT_EXAMPLES
the folder with the examples. All of them report each epoch by ``regression.report``.
"""

import os
import signal
import sys

_EPOCH = 4  # all ranks are in the middle of it


def _prepare(how: str, which: int) -> None:
    sys.path.append(os.path.join(os.environ["FAULT_EXAMPLES"], "common"))
    import regression  # type: ignore[import-not-found, unused-ignore]

    report = regression.report

    def report_and_fail(rank: int, epoch: int, loss: float) -> None:
        report(rank, epoch, loss)
        if (rank, epoch) == (which, _EPOCH):
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError(f"rank {rank} raises")

    regression.report = report_and_fail


if "FAULT" in os.environ:
    _how, _, _rank = os.environ["FAULT"].partition(":")
    _prepare(_how, int(_rank))
