"""LIST and WATCH as a state machine: facts go in, the next request comes out. No I/O, no clock.

Rules of this file:

1. `version` is the resourceVersion up to which the consumer knows everything. Empty means LIST.
2. Only a snapshot, an event or a bookmark moves it forward; only 410 Gone forgets it.
3. `wait` is for the next request alone. Whoever drives the cursor adds jitter and sleeps.

Kubernetes: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

FIRST_PAUSE = 0.8
LONGEST_PAUSE = 30.0
SETTLED = 1.0
"""Seconds; a watch that ends sooner without an event is a failure, as in client-go."""


def pause(failures: int, retry_after: float = 0.0) -> float:
    """Seconds to wait after that many failures in a row; never less than the server asked for."""
    doubled = FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 10)
    return max(retry_after, min(doubled, LONGEST_PAUSE))


class WatchCursor:
    """What to ask for next, for one collection.

    Attributes:
        version: watch from this resourceVersion; "" asks for a LIST.
        wait: seconds to wait before that request.
        failures: failures in a row; 0 means that the watch works.
    """

    def __init__(self) -> None:
        self.version = ""
        self.wait = 0.0
        self.failures = 0
        self._seen = False

    def listed(self, version: str) -> None:
        """A snapshot of this resourceVersion arrived."""
        self.version = version
        self.wait = 0.0

    def event(self, version: str) -> None:
        """ADDED, MODIFIED or DELETED arrived; it is for the consumer."""
        self.version = version
        self.failures = 0
        self._seen = True

    def bookmark(self, version: str) -> None:
        """BOOKMARK arrived; there is nothing in it for the consumer."""
        self.version = version

    def gone(self) -> None:
        """410, as HTTP status or as ERROR event: the server has forgotten our version."""
        self._fail(0.0)
        self.version = ""
        if self.failures == 1:
            self.wait = 0.0

    def ended(self, lived: float) -> None:
        """The server closed the watch cleanly.

        Args:
            lived: seconds since the watch was opened.
        """
        if lived > SETTLED or self._seen:
            self.failures = 0
            self.wait = 0.0
            self._seen = False
        else:
            self._fail(0.0)

    def failed(self, lived: float = 0.0, retry_after: float = 0.0) -> None:
        """429, 5xx or a transport error, when opening the watch or later.

        Args:
            lived: seconds since the watch was opened; 0 when it never was.
            retry_after: seconds the server asked for.
        """
        if lived > SETTLED:
            self.failures = 0
        self._fail(retry_after)

    def _fail(self, retry_after: float) -> None:
        self.failures += 1
        self.wait = pause(self.failures, retry_after)
        self._seen = False
