"""The few parts of RFC 1035 that answer A queries for names of a cluster; no I/O."""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_A = 1
_NO_SUCH_NAME = 3
_TTL = 1  # seconds: pods come and go


@dataclass(frozen=True)
class ServiceName:
    """``[host.]service.namespace.svc.cluster.local``, taken apart."""

    namespace: str
    service: str
    host: str | None


@dataclass(frozen=True)
class Query:
    """The first question of a query message."""

    message: bytes
    name: str
    """Lower case, without the last dot."""
    end: int
    """Offset just after the question."""
    kind: int

    def service(self) -> ServiceName | None:
        """Return which service is meant; None for a name outside the cluster's domain."""
        match self.name.split("."):
            case [*host, service, namespace, "svc", "cluster", "local"] if len(host) < 2:
                return ServiceName(namespace, service, host[0] if host else None)
            case _:
                return None

    def reply(self, addresses: Sequence[str]) -> bytes:
        """Return the answer; no address at all means that there is no such name.

        Only A records are given: a query of another kind for a name that exists gets none.
        """
        given = addresses if self.kind == _A else ()
        flags = 0x8580 | (0 if addresses else _NO_SUCH_NAME)  # response, authoritative, recursion
        header = self.message[:2] + struct.pack(">HHHHH", flags, 1, len(given), 0, 0)
        record = b"\xc0\x0c" + struct.pack(">HHIH", _A, 1, _TTL, 4)  # 0xc00c: the name in question
        records = b"".join(record + socket.inet_aton(address) for address in given)
        return header + self.message[12 : self.end] + records


def parse(message: bytes) -> Query:
    """Read a query.

    Raises:
        IndexError, struct.error, UnicodeDecodeError: it is not one.
    """
    labels, at = [], 12
    while length := message[at]:
        labels.append(message[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    (kind,) = struct.unpack_from(">H", message, at + 1)
    return Query(message, ".".join(labels).lower(), at + 5, kind)
