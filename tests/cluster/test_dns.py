"""Cluster DNS answers as resolvers in pods expect."""

import socket
import struct

import pytest

from .dns import ServiceName, parse

_A, _AAAA = 1, 28


def _query(name: str, kind: int = _A) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    header = struct.pack(">HHHHHH", 0x1234, 0x0100, 1, 0, 0, 0)
    return header + labels + b"\0" + struct.pack(">HH", kind, 1)


@pytest.mark.parametrize(
    ("name", "service"),
    [
        pytest.param("job.team.svc.cluster.local", ServiceName("team", "job", None), id="service"),
        pytest.param("W-0.job.team.svc.cluster.local", ServiceName("team", "job", "w-0"), id="pod"),
        pytest.param("job.team.svc", None, id="search domain not appended"),
        pytest.param("a.b.job.team.svc.cluster.local", None, id="too deep"),
        pytest.param("example.org", None, id="outside"),
    ],
)
def test_query_names_a_service(name: str, service: ServiceName | None) -> None:
    """Only names of the cluster's domain mean a service; case does not matter."""
    assert parse(_query(name)).service() == service


@pytest.mark.parametrize(
    ("kind", "addresses", "code", "answers"),
    [
        pytest.param(_A, ["10.0.0.1", "10.0.0.2"], 0, 2, id="known"),
        pytest.param(_A, [], 3, 0, id="unknown: NXDOMAIN"),
        pytest.param(_AAAA, ["10.0.0.1"], 0, 0, id="known, but not for IPv6: empty, no NXDOMAIN"),
    ],
)
def test_reply_says_whether_the_name_exists(
    kind: int, addresses: list[str], code: int, answers: int
) -> None:
    """An IPv6 query for a name that exists must not make a resolver give up on the name."""
    reply = parse(_query("job.team.svc.cluster.local", kind)).reply(addresses)
    identity, flags, questions, given, _, _ = struct.unpack_from(">HHHHHH", reply)
    assert (identity, flags & 0xF, questions, given) == (0x1234, code, 1, answers)
    assert [address for address in addresses[:answers] if socket.inet_aton(address) in reply] == (
        addresses[:answers]
    )
