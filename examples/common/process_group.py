"""All-reduce and broadcast over plain sockets, for training without a framework.

Rank 0 listens on the master port and every other rank keeps one connection to it. A message is a
count followed by that many doubles. Rank 0 adds the contributions in rank order and sends the sum
back, so every rank receives the same bits, run after run. One hub is a bottleneck for large models,
where frameworks use rings and trees; for a handful of parameters it is the simplest that works.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Sequence

PATIENCE_SECONDS = 600.0  # how long the other pods of a job may take to start
_HELLO = struct.Struct("!4sII")  # magic, world size, rank
_MAGIC = b"RANK"
_HELLO_SECONDS = 5.0


class ProcessGroup:
    """The ranks of one training job, connected; use it as a context manager."""

    def __init__(self, rank: int, world_size: int, peers: list[socket.socket]) -> None:
        """Take connections that are open; `join` makes them."""
        self.rank = rank
        self.world_size = world_size
        self._peers = peers  # on rank 0: ranks 1, 2, ... in order; elsewhere: rank 0 alone

    @classmethod
    def join(
        cls,
        address: str,
        port: int,
        rank: int,
        world_size: int,
        patience: float = PATIENCE_SECONDS,
    ) -> ProcessGroup:
        """Wait until all ranks are connected, at most `patience` seconds.

        The pods of a job start in any order: until the master is up its name may not resolve and
        its port refuses connections. A rank that is silent for so long later on is an error too.
        """
        deadline = time.monotonic() + patience
        if rank == 0:
            peers = _accept_all(port, world_size, deadline)
        else:
            peers = [_connect(address, port, deadline)]
            peers[0].sendall(_HELLO.pack(_MAGIC, world_size, rank))
        for peer in peers:
            peer.settimeout(patience)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(rank, world_size, peers)

    @classmethod
    def from_environment(cls) -> ProcessGroup:
        """Join by the variables that torch programs read, as operators and torchrun set them."""
        return cls.join(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            int(os.environ["RANK"]),
            int(os.environ["WORLD_SIZE"]),
        )

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Return the element-wise sum of every rank's values, on every rank."""
        if self.rank == 0:
            contributions = [list(values), *(_receive(peer) for peer in self._peers)]
            values = [sum(column) for column in zip(*contributions, strict=True)]
        else:
            _send(self._peers[0], values)
        return self.broadcast(values)

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """Return rank 0's values, on every rank."""
        if self.rank != 0:
            return _receive(self._peers[0])
        for peer in self._peers:
            _send(peer, values)
        return list(values)

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self._peers:
            peer.close()


def wait_for_name(name: str, patience: float) -> None:
    """Return once a host name resolves; a pod's name does so some seconds after the pod starts."""
    deadline = time.monotonic() + patience
    while True:
        try:
            socket.getaddrinfo(name, None)
        except socket.gaierror as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the name {name} never resolved: {error}") from error
            time.sleep(0.2)
        else:
            return


def _accept_all(port: int, world_size: int, deadline: float) -> list[socket.socket]:
    ranks: dict[int, socket.socket] = {}
    with socket.create_server(("", port), backlog=world_size) as server:
        while len(ranks) < world_size - 1:
            server.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                peer, _ = server.accept()
            except TimeoutError:
                missing = sorted(set(range(1, world_size)) - set(ranks))
                raise TimeoutError(f"ranks {missing} never connected to port {port}") from None
            hello = _hello(peer)
            if hello is None:
                peer.close()
                continue
            size, rank = hello
            if size != world_size or not 0 < rank < world_size or rank in ranks:
                raise ValueError(f"rank {rank} of {size} has no place in these {world_size} ranks")
            ranks[rank] = peer
    return [ranks[rank] for rank in sorted(ranks)]


def _hello(peer: socket.socket) -> tuple[int, int] | None:
    """Return a rank's (world size, rank), or None for a port scan or a health check."""
    peer.settimeout(_HELLO_SECONDS)
    try:
        magic, size, rank = _HELLO.unpack(_receive_exactly(peer, _HELLO.size))
    except OSError:
        return None
    return (size, rank) if magic == _MAGIC else None


def _connect(address: str, port: int, deadline: float) -> socket.socket:
    while True:
        try:
            peer = socket.create_connection((address, port), timeout=10.0)
        except OSError as error:  # an unknown name (gaierror) is one, too
            if time.monotonic() > deadline:
                raise TimeoutError(f"no master at {address}:{port}: {error}") from error
            time.sleep(0.2)
            continue
        if peer.getsockname() != peer.getpeername():
            return peer
        # On one machine, before the master listens, TCP may connect a port to itself.
        peer.close()


def _send(peer: socket.socket, values: Sequence[float]) -> None:
    peer.sendall(struct.pack(f"!I{len(values)}d", len(values), *values))


def _receive(peer: socket.socket) -> list[float]:
    (count,) = struct.unpack("!I", _receive_exactly(peer, 4))
    return list(struct.unpack(f"!{count}d", _receive_exactly(peer, 8 * count)))


def _receive_exactly(peer: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = peer.recv(size - len(received))
        if not chunk:
            raise ConnectionError("another rank has closed the connection")
        received += chunk
    return bytes(received)
