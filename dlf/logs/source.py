"""Where logs come from: what the multiplexer needs of a Kubernetes client."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from dlf.errors import DlfError, Rejected
from dlf.logs.instances import Target, instances
from dlf.manifest.kinds import POD, Kind
from dlf.manifest.observed import Pod

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
        tail_lines: int | None = None,
    ) -> AbstractAsyncContextManager[LogStream]:
        """A log with timestamps. Raises `Rejected` on 4xx, anything else for what may pass."""

    async def get(self, kind: Kind, namespace: str, name: str, type_: type[T]) -> T | None:
        """One object, or None when there is none of this name. Raises `DlfError`."""


class StreamBroken(Exception):
    """The stream broke, or could not be opened.

    Attributes:
        retry_after: seconds that the server asked to wait.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.retry_after = float(getattr(error, "retry_after", 0.0))


async def is_served(source: LogSource, target: Target, *, previous: bool) -> bool:
    """Whether this instance's log is what its pod's and container's names stand for now.

    Args:
        source: of the log.
        target: the instance.
        previous: the log is asked for as that of the instance before the current one.

    Returns:
        True also when that can never be found out, since pods may not be read; False when it could
        not be found out this time.
    """
    try:
        pod = await source.get(POD, target.namespace, target.pod, Pod)
    except DlfError as error:
        return isinstance(error, Rejected) and error.status == 403
    return any(
        each.id == target.instance and each.previous == previous
        for each in (instances(pod) if pod else ())
    )
