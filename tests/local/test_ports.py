"""Free ports."""

import itertools
import socket

from dlf.local.ports import free_ports


def test_free_ports_are_different_and_below_those_of_outgoing_connections() -> None:
    """No port twice, none that the kernel may give to a client meanwhile."""
    ports = list(itertools.islice(free_ports(12345), 200))
    assert len(ports) == len(set(ports))
    assert all(10000 <= port < 30000 for port in ports)


def test_free_ports_leave_out_what_is_taken() -> None:
    """A port that somebody listens on is passed over, also at the end of the range."""
    (port,) = itertools.islice(free_ports(19999), 1)
    with socket.create_server(("127.0.0.1", port)):
        (other,) = itertools.islice(free_ports(port - 10000), 1)
    assert port != other
