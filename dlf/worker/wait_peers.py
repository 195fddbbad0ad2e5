"""Waits until the job's other pods can be reached, and says which are missing.

The image needs no tools for it: dlf resolves the names itself, by /etc/resolv.conf.
"""

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

_RETRY_SECONDS = 0.5
_REPORT_SECONDS = 10.0  # between two lines about missing pods
_CONNECT_SECONDS = 2.0
_MAX_NAMED = 5  # pods in one line


class PeerAddress:
    """A peer's host, and the port to connect to; port 0: resolving the name is enough."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.problem = "not yet tried"

    def is_reachable(self) -> bool:
        """Try once; `problem` then says why not."""
        try:
            addresses = socket.getaddrinfo(self.host, self.port or None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            self.problem = "DNS does not know its name"
            return False
        if not self.port:
            return True
        for family, kind, protocol, _, address in addresses:
            with suppress(OSError), socket.socket(family, kind, protocol) as connection:
                connection.settimeout(_CONNECT_SECONDS)
                connection.connect(address)
                return True
        self.problem = f"port {self.port} does not answer"
        return False


def wait_for_peers(
    peers: Sequence[PeerAddress], limit: float, notify: Callable[[str], None]
) -> bool:
    """Wait until all can be reached; return False when the limit, in seconds, came first.

    This runs in a child of the worker, and gives up when the worker has ended.
    """
    begin = time.monotonic()
    worker = os.getppid()
    report = begin + _REPORT_SECONDS
    missing = list(peers)
    while True:
        missing = [peer for peer in missing if not peer.is_reachable()]
        now = time.monotonic()
        if not missing:
            return True
        if os.getppid() != worker:
            return False
        if now - begin >= limit:
            from dlf.task.scalars import format_duration

            notify(
                f"gave up: not reached within {format_duration(limit)} (--wait_timeout) are"
                f" {describe(missing, len(peers))}; see by dlf status JOB whether they run"
            )
            return False
        if now >= report:
            notify(f"waiting for {describe(missing, len(peers))}")
            report = now + _REPORT_SECONDS
        time.sleep(max(min(_RETRY_SECONDS, begin + limit - now), 0.01))


def describe(missing: Sequence[PeerAddress], total: int) -> str:
    """Which peers are missing and why, in one line."""
    named = ", ".join(f"{peer.host} ({peer.problem})" for peer in missing[:_MAX_NAMED])
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return f"{len(missing)} of {total} pods: {named}{more}"
