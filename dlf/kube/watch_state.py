"""Whether to LIST or WATCH a collection next, decided from what happened. No I/O, no clock.

Rules of this state machine:

1. `resource_version` is the version up to which the consumer knows everything. Empty means LIST.
2. Only a list, an event or a bookmark moves it forward. Only 410 Gone clears it.
3. `delay_seconds` is for the next request alone. The caller adds jitter and sleeps.

Kubernetes: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

from dlf.kube.retry import backoff_seconds

MIN_WATCH_SECONDS = 1.0
"""A watch that ends sooner, without an event, counts as a failure, as in client-go."""


class WatchState:
    """What to request next for one collection.

    Attributes:
        resource_version: watch from this version; "" asks for a LIST.
        delay_seconds: to wait before that request.
        failures: in a row; 0 means that the watch works.
    """

    def __init__(self) -> None:
        self.resource_version = ""
        self.delay_seconds = 0.0
        self.failures = 0
        self._had_event = False

    def on_list(self, resource_version: str) -> None:
        """A list of this version arrived."""
        self.resource_version = resource_version
        self.delay_seconds = 0.0

    def on_event(self, resource_version: str) -> None:
        """ADDED, MODIFIED or DELETED arrived."""
        self.resource_version = resource_version
        self.failures = 0
        self._had_event = True

    def on_bookmark(self, resource_version: str) -> None:
        """BOOKMARK arrived: a newer version, and nothing for the consumer."""
        self.resource_version = resource_version

    def on_gone(self) -> None:
        """410, as HTTP status or as ERROR event: the server has compacted our version away."""
        self._fail(0.0)
        self.resource_version = ""
        if self.failures == 1:
            self.delay_seconds = 0.0

    def on_end(self, open_seconds: float) -> None:
        """The server closed the watch cleanly, this long after it was opened."""
        if open_seconds > MIN_WATCH_SECONDS or self._had_event:
            self.failures = 0
            self.delay_seconds = 0.0
            self._had_event = False
        else:
            self._fail(0.0)

    def on_failure(self, open_seconds: float = 0.0, retry_after: float = 0.0) -> None:
        """429, 5xx or a transport error, when opening the watch or later.

        Args:
            open_seconds: for which the watch was open; 0 when it never was.
            retry_after: seconds that the server asked to wait.
        """
        if open_seconds > MIN_WATCH_SECONDS:
            self.failures = 0
        self._fail(retry_after)

    def _fail(self, retry_after: float) -> None:
        self.failures += 1
        self.delay_seconds = backoff_seconds(self.failures, retry_after)
        self._had_event = False
