"""Where logs come from: what the multiplexer needs of a Kubernetes client."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from dlf.manifest.kinds import Kind

T = TypeVar("T")


class LogStream(Protocol):
    """An open log."""

    async def read(self, take: Callable[[bytes], bool] | None = None) -> bytes:
        """The next bytes, as many as there are; b"" at a clean end. Raises when it broke.

        Args:
            take: may be offered bytes as they come; what it takes, by returning True, is not
                returned, and what it raises is raised.
        """


class LogSource(Protocol):
    """Opens logs; `dlf.kube.client.KubeClient` is one."""

    def open_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        since_time: str = "",
        follow: bool = True,
        previous: bool = False,
    ) -> AbstractAsyncContextManager[LogStream]:
        """A log with timestamps. Raises `Rejected` on 4xx, anything else for what may pass."""

    async def get(self, kind: Kind, namespace: str, name: str, type_: type[T]) -> T | None:
        """One object, or None when there is none of this name. Raises `DlfError`."""


class Broken(Exception):
    """The source failed.

    Why is for the source to know.

    Attributes:
        wait: seconds for which it asked to be left alone.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.wait = float(getattr(error, "retry_after", 0.0))
