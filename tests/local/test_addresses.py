"""What a run claims of this machine."""

import socket

from dlf.local.addresses import LocalAddresses


def test_hosts_are_different_and_of_this_machine() -> None:
    """More pods than a block has are spread over several; a server can listen on each."""
    with LocalAddresses(12345) as run:
        hosts = [run.host() for _ in range(300)]
        assert 300 == len(set(hosts))
        for host in (hosts[0], hosts[-1]):
            assert host.startswith("127.")
            socket.create_server((host, 0)).close()


def test_two_runs_share_no_address_and_no_port() -> None:
    """Also when they begin to look at the same place, and nobody listens yet."""
    with LocalAddresses(7) as one, LocalAddresses(7) as other:
        assert one.host().rpartition(".")[0] != other.host().rpartition(".")[0]
        assert one.port(23456) != other.port(23456)


def test_ports_keep_their_number_once() -> None:
    """Servers listen on all addresses: two pods with one port get two, below the kernel's own."""
    with LocalAddresses(12345) as run:
        wanted = run.port(28766)
        spare = [run.port(wanted) for _ in range(50)]
    assert 50 == len({*spare} - {wanted})
    assert all(10000 <= port < 30000 for port in spare)


def test_ports_leave_out_what_is_taken() -> None:
    """A port that somebody listens on is passed over, whatever the address is."""
    with LocalAddresses(1) as run:
        port = run.port(28766)
    with socket.create_server(("127.0.0.1", port)), LocalAddresses(2) as run:
        assert port != run.port(port)


def test_closed_run_leaves_its_claims_to_the_next() -> None:
    """An address and a port are used again."""
    found = []
    for _ in range(2):
        with LocalAddresses(99) as run:
            port = run.port(28765)
            found.append((run.host(), port))
    assert found[0] == found[1]
