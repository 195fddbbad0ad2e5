"""How long to put up with a server that does not answer, and what the user is told about it.

Each operation has its own patience: it gives up when nothing but failures came back for the whole
budget. The user hears once that there is trouble and once that it is over, however many
operations are in it. One failure is not yet trouble: connections break, and the next try works.
"""

import asyncio
import random
from collections.abc import Callable
from types import TracebackType
from typing import Self

from dlf.errors import ClusterLost, Rejected
from dlf.kube.cursor import pause
from dlf.kube.refusal import Unavailable


class Outage:
    """The operations of one client that are in trouble.

    Args:
        budget: seconds.
        notice: is told when trouble begins and when it is over.
    """

    def __init__(self, budget: float, notice: Callable[[str], None]) -> None:
        self.budget = budget
        self._notice = notice
        self._troubled: set[Retry] = set()
        self._began = 0.0
        self._any_well = False  # one that was troubled works again; others may not have tried yet

    def enter(self, retry: "Retry", cause: str) -> None:
        """Count this operation as troubled."""
        if not self._troubled:
            self._began = asyncio.get_running_loop().time()
            self._notice(
                f"the API server does not answer ({cause}); trying for {self.budget:.0f} s"
            )
        self._troubled.add(retry)

    def leave(self, retry: "Retry", *, well: bool) -> None:
        """Count this operation as well again, or as given up."""
        if retry in self._troubled:
            self._troubled.remove(retry)
            self._any_well |= well
            if self._any_well and not self._troubled:
                self._any_well = False
                lasted = asyncio.get_running_loop().time() - self._began
                self._notice(f"the API server answers again after {lasted:.0f} s")


class Retry:
    """The tries of one operation; a context manager, left when it succeeded or is given up.

    Args:
        outage: of the client.
        action: what is being tried, such as `list pods in namespace ml`.
    """

    def __init__(self, outage: Outage, action: str) -> None:
        self._outage = outage
        self._action = action
        self._failures = 0
        self._began = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        # A refusal is an answer; being cancelled or giving up is none.
        self._outage.leave(self, well=error is None or isinstance(error, Rejected))

    def worked(self) -> None:
        """The server answered: the budget is whole again."""
        self._failures = 0
        self._outage.leave(self, well=True)

    async def wait(self, failure: Unavailable, wait: float | None = None) -> None:
        """Wait before the next try.

        Args:
            failure: what happened to the last one.
            wait: seconds before jitter; computed from the failures in a row when not given.

        Raises:
            ClusterLost: the budget is used up.
        """
        now = asyncio.get_running_loop().time()
        if not self._failures:
            self._began = now
        self._failures += 1
        left = self._began + self._outage.budget - now
        if left <= 0:
            raise ClusterLost(
                f"cannot {self._action}: no success for {self._outage.budget:.0f} s, "
                f"at last {failure.cause}",
                "the job, if there is one, is left as it is; see `--api_outage`",
            ) from failure
        if self._failures > 1:
            self._outage.enter(self, failure.cause)
        if wait is None:
            wait = pause(self._failures, failure.retry_after)
        await asyncio.sleep(min(wait * random.uniform(1.0, 1.25), left))  # noqa: S311 jitter
