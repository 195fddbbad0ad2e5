"""Waiting until the other pods can be reached, and saying who is missing.

It needs nothing of the image: the names are resolved here, by whatever /etc/resolv.conf says.
"""

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

_PAUSE = 0.5  # seconds between tries
_REPORT = 10.0  # seconds between lines
_CONNECT = 2.0  # seconds for a connection
_NAMED = 5  # names in one line


class Target:
    """A host to resolve, and a port of it to connect to; port 0 only resolves."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.problem = "not yet tried"

    def reached(self) -> bool:
        """Try once; `problem` says what is in the way."""
        try:
            found = socket.getaddrinfo(self.host, self.port or None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            self.problem = "the name is not known"
            return False
        if not self.port:
            return True
        for family, kind, protocol, _, address in found:
            with suppress(OSError), socket.socket(family, kind, protocol) as connection:
                connection.settimeout(_CONNECT)
                connection.connect(address)
                return True
        self.problem = f"port {self.port} does not answer"
        return False


def wait(targets: Sequence[Target], limit: float, say: Callable[[str], None]) -> bool:
    """Wait until all are reached; False when the limit, in seconds, came first.

    It runs in a child of the worker, and gives up when that is gone.
    """
    begin = time.monotonic()
    worker = os.getppid()
    report = begin + _REPORT
    missing = list(targets)
    while True:
        missing = [target for target in missing if not target.reached()]
        now = time.monotonic()
        if not missing:
            return True
        if os.getppid() != worker:
            return False
        if now - begin >= limit:
            say(f"gave up after {limit:.0f} s: {describe(missing, len(targets))}")
            return False
        if now >= report:
            say(f"waiting for {describe(missing, len(targets))}")
            report = now + _REPORT
        time.sleep(max(min(_PAUSE, begin + limit - now), 0.01))


def describe(missing: Sequence[Target], total: int) -> str:
    """Who is missing and why, in one line."""
    named = ", ".join(f"{target.host} ({target.problem})" for target in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"{len(missing)} of {total} pods: {named}{more}"
