"""Free ports of this machine."""

import itertools
import socket
from collections.abc import Iterator

# Linux takes ports of outgoing connections from 32768 on. A port from there could be taken between
# now and its use, and a client could even connect to itself on it.
_LOWEST, _HIGHEST = 10000, 30000


def free_ports(number: int) -> Iterator[int]:
    """Ports that nobody listens on, each one once.

    Args:
        number: any; where to start. Jobs that start at the same time should differ.
    """
    start = _LOWEST + number % (_HIGHEST - _LOWEST)
    return filter(_is_free, itertools.chain(range(start, _HIGHEST), range(_LOWEST, start)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
