"""Addresses and ports of this machine for the pods of one run, which no other run of dlf uses.

Linux takes all of 127.0.0.0/8 for itself, so each pod gets an address of its own from a block that
the run has claimed; elsewhere, or where the block cannot be used, all pods are 127.0.0.1. A port
keeps the number that it has on the cluster, if that is free. Servers of most frameworks listen on
all addresses of a machine, so a number is given to one pod only, whatever the pod's address is.

A claim is a Unix socket with an abstract name: one process can hold it, and its end releases it.
"""

import itertools
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

HOST = "127.0.0.1"

# Second numbers of the blocks 127.x.y.0/24: 127.0 has names of its own on many machines.
_LOWEST_BLOCK, _HIGHEST_BLOCK = 64, 254
_HOSTS = range(1, 255)  # of a block

# Linux takes ports of outgoing connections from 32768 on. A port from there could be taken between
# now and its use, and a client could even connect to itself on it.
_LOWEST, _HIGHEST = 10000, 30000


def is_offline() -> bool:
    """Whether this machine has no network but loopback, by asking for a route to elsewhere."""
    with socket.socket(type=socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; RFC 5737
        except OSError:
            return True
    return False


class LocalAddresses:
    """The addresses and ports of one run; a context manager that releases them at its end.

    Args:
        number: where to begin the search; a random number, so that runs do not collide.
    """

    def __init__(self, number: int) -> None:
        self._claims: list[socket.socket] = []
        self._hosts = self._claimed_hosts(number)
        start = _LOWEST + number % (_HIGHEST - _LOWEST)
        self._spare = itertools.chain(range(start, _HIGHEST), range(_LOWEST, start))

    def host(self) -> str:
        """The address of another pod."""
        return next(self._hosts)

    def port(self, wanted: int) -> int:
        """A port that nobody listens on, each one once: the wanted one if possible."""
        return next(
            port
            for port in itertools.chain([wanted], self._spare)
            if _is_free(port) and self._claim(f"port-{port}")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let other runs have them."""
        for claim in self._claims:
            claim.close()

    def _claimed_hosts(self, number: int) -> Iterator[str]:
        blocks = [
            f"127.{high}.{low}"
            for high in range(_LOWEST_BLOCK, _HIGHEST_BLOCK + 1)
            for low in range(256)
        ]
        start = number % len(blocks)
        for block in itertools.chain(blocks[start:], blocks[:start]):
            if not _is_free(0, f"{block}.1"):
                break
            if self._claim(f"block-{block}"):
                yield from (f"{block}.{host}" for host in _HOSTS)
        yield from itertools.repeat(HOST)

    def _claim(self, name: str) -> bool:
        claim = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            claim.bind(f"\0dlf-local-{name}")
            self._claims.append(claim)
            return True
        claim.close()
        return False


def _is_free(port: int, host: str = "") -> bool:
    """Whether a server could listen there; port 0 is any, to try the address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
