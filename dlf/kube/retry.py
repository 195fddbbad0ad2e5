"""How long to retry while the API server does not answer, and what the user is told about it.

Each operation has its own budget: it gives up when it had nothing but failures for that long. The
user is told once that there is an outage and once that it is over, however many operations it
affects. A single failure is not an outage: connections break, and the next try works.
"""

import asyncio
import random
from collections.abc import Callable
from types import TracebackType
from typing import Self

from dlf.errors import ClusterLost, Rejected
from dlf.kube.api_errors import Unavailable
from dlf.task.scalars import format_duration

FIRST_BACKOFF_SECONDS = 0.8
MAX_BACKOFF_SECONDS = 30.0


def backoff_seconds(failures: int, retry_after: float = 0.0) -> float:
    """Seconds to wait after that many failures in a row; never less than the server asked for."""
    doubled = FIRST_BACKOFF_SECONDS * 2.0 ** min(max(failures - 1, 0), 10)
    return max(retry_after, min(doubled, MAX_BACKOFF_SECONDS))


class OutageTracker:
    """The operations of one client that keep failing.

    Args:
        server: the host, for messages.
        budget_seconds: after which an operation gives up.
        notify: called when an outage begins and when it is over.
    """

    def __init__(self, server: str, budget_seconds: float, notify: Callable[[str], None]) -> None:
        self._server = server
        self.budget_seconds = budget_seconds
        self._notify = notify
        self._failing: set[Retry] = set()
        self._began = 0.0
        self._any_recovered = False  # one of them works again; others may not have retried yet

    def add(self, retry: "Retry", cause: str) -> None:
        """Count this operation as failing."""
        if not self._failing:
            self._began = asyncio.get_running_loop().time()
            self._notify(
                f"cannot reach the API server at {self._server} ({cause});"
                f" retrying for {format_duration(self.budget_seconds)}"
            )
        self._failing.add(retry)

    def remove(self, retry: "Retry", *, recovered: bool) -> None:
        """Stop counting this operation: it works again, or it was given up."""
        if retry in self._failing:
            self._failing.remove(retry)
            self._any_recovered |= recovered
            if self._any_recovered and not self._failing:
                self._any_recovered = False
                duration = asyncio.get_running_loop().time() - self._began
                self._notify(f"the API server answers again after {format_duration(duration)}")


class Retry:
    """The tries of one operation; a context manager, left when it succeeded or was given up.

    Args:
        outages: of the client.
        description: what is being tried, such as `list pods in namespace ml`.
    """

    def __init__(self, outages: OutageTracker, description: str) -> None:
        self._outages = outages
        self._description = description
        self._failures = 0
        self._began = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A rejection is an answer. Being cancelled or giving up is not.
        self._outages.remove(self, recovered=error is None or isinstance(error, Rejected))

    def succeeded(self) -> None:
        """The server answered: the whole budget is available again."""
        self._failures = 0
        self._outages.remove(self, recovered=True)

    async def wait(self, failure: Unavailable, seconds: float | None = None) -> None:
        """Wait before the next try.

        Args:
            failure: of the last try.
            seconds: to wait, before jitter; by default from the failures in a row.

        Raises:
            ClusterLost: the budget is used up.
        """
        now = asyncio.get_running_loop().time()
        if not self._failures:
            self._began = now
        self._failures += 1
        left = self._began + self._outages.budget_seconds - now
        if left <= 0:
            raise ClusterLost(
                f"cannot {self._description}: the API server could not be reached for"
                f" {format_duration(self._outages.budget_seconds)} (--api_outage): {failure.cause}",
                "the job, if there is one, is left as it is",
            ) from failure
        if self._failures > 1:
            self._outages.add(self, failure.cause)
        if seconds is None:
            seconds = backoff_seconds(self._failures, failure.retry_after)
        await asyncio.sleep(min(seconds * random.uniform(1.0, 1.25), left))  # noqa: S311 jitter
