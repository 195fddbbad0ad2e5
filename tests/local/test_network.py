"""Names and ports of pods, on one machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local.planning import hosts, ports

from dlf.local.network import Network


def network() -> Network:
    return Network("job-1", hosts(), ports(), "/scratch")


@pytest.mark.parametrize(
    ("value", "local"),
    [
        ("job-1-worker-0", "127.64.0.1"),
        ("job-1-worker-0.job-1", "127.64.0.1"),
        ("job-1-master-0.ns.svc", "127.64.0.1"),
        ("job-1-worker-12.ns.svc.cluster.local:29500", "127.64.0.1:29500"),
        ("tcp://job-1-worker-0:29500/path", "tcp://127.64.0.1:29500/path"),
        (
            "job-1-a-b-0:1,job-1-a-b-1:1,job-1-a-b-0:1",
            "127.64.0.1:1,127.64.0.2:20000,127.64.0.1:1",
        ),
        ("/data/job-1-worker-0", "/data/job-1-worker-0"),
        ("job-1-worker-0/part", "127.64.0.1/part"),
        ("job-1-worker-0.log", "job-1-worker-0.log"),
        ("job-1-worker-0x", "job-1-worker-0x"),
        ("my-job-1-worker-0", "my-job-1-worker-0"),
        ("job-1", "job-1"),
        ("job-12-worker-0", "job-12-worker-0"),
    ],
)
def test_network_localizes_host_names_only(value: str, local: str) -> None:
    """A pod's name is replaced where it is a host, not where it is part of another word."""
    assert {"X": local} == network().localize({"X": value})


def test_network_gives_a_pods_port_the_same_number_everywhere() -> None:
    """A port in its own variable, behind a name, and asked for: one pod's port is one port."""
    shared = network()
    local = shared.localize(
        {
            "MASTER_ADDR": "job-1-worker-0.job-1",
            "MASTER_PORT": "29500",
            "ENDPOINT": "job-1-worker-0:29500",
            "OTHER": "job-1-worker-1:29500",
        }
    )
    port = shared.port("job-1-worker-0", 29500)
    assert ("127.64.0.1", str(port)) == (local["MASTER_ADDR"], local["MASTER_PORT"])
    assert f"127.64.0.1:{port}" == local["ENDPOINT"]
    assert f"127.64.0.1:{port}" != local["OTHER"]


def test_network_leaves_other_addresses_alone() -> None:
    """A rendezvous that the user put elsewhere stays there, with its port."""
    given = {"MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500", "NCCL_SOCKET_IFNAME": "ib0"}
    assert given == network().localize(given)


@given(st.dictionaries(st.text(), st.text().filter(lambda text: "job-1-" not in text)))
def test_network_changes_nothing_that_names_no_pod(env: dict[str, str]) -> None:
    """Any variables, with any text."""
    assert env == network().localize(env)


def test_network_of_one_machine_is_the_loopback_interface() -> None:
    """`eth0` is what a pod's interface is called, not this machine's."""
    assert {"NCCL_SOCKET_IFNAME": "lo"} == network().localize({"NCCL_SOCKET_IFNAME": "eth0"})
