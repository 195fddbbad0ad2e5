"""Calls that run side by side, each as soon as the results it takes are there."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Self, TypeVar

Result = TypeVar("Result")


class Graph:
    """A context that ends when all of its calls have, or with the error of the first that fails."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """Prepare; `stop` ends the other calls when one has failed."""
        self._stop = stop
        self._calls: list[Future[Any]] = []
        self._pool = ThreadPoolExecutor(max_workers=16)

    def call(self, work: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Call `work` in a thread, with the results of those arguments that are calls themselves.

        A call takes the results of earlier ones only, so that the threads never wait in a circle.
        """

        def run() -> Result:
            ready = [item.result() if isinstance(item, Future) else item for item in arguments]
            return work(*ready)

        future = self._pool.submit(run)
        self._calls.append(future)
        return future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for call in as_completed(self._calls):
                call.result()  # raises what the call failed with
        except BaseException:  # Ctrl-C too
            self._stop()
            raise
        finally:
            self._pool.shutdown(cancel_futures=True)
