"""Which pods a job has, by what each operator tells its containers."""

import json

import pytest

from dlf.worker.peers import Peers, full_name, hostfile, peers

_TF = json.dumps(
    {
        "cluster": {
            "ps": ["j-ps-0.ns.svc:2222"],
            "worker": ["j-worker-0.ns.svc:2222", "j-worker-1.ns.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }
)


@pytest.mark.parametrize(
    ("env", "hostname", "expected"),
    [
        pytest.param(
            {"VC_WORKER_HOSTS": "j-worker-0.j,j-worker-1.j", "VC_TASK_INDEX": "1"},
            "j-worker-1",
            Peers(("j-worker-0.j", "j-worker-1.j"), 1),
            id="Volcano",
        ),
        pytest.param(
            {
                "VC_A_HOSTS": "j-a-0.j",
                "VC_Z_HOSTS": "j-z-0.j",
                "MASTER_ADDR": "j-z-0.j",
                "MASTER_PORT": "23456",
            },
            "j-a-0",
            Peers(("j-z-0.j", "j-a-0.j"), 1, ("j-z-0.j", 23456)),
            id="Volcano, the master's task first",
        ),
        pytest.param(
            {"VC_WORKER_HOSTS": "127.0.0.5,127.0.0.6", "VC_TASK_INDEX": "1"},
            "laptop",
            Peers(("127.0.0.5", "127.0.0.6"), 1),
            id="local runtime",
        ),
        pytest.param(
            {
                "VC_A_HOSTS": "127.0.0.5",
                "VC_B_HOSTS": "127.0.0.6,127.0.0.7",
                "VC_TASK_ROLE": "b",
                "VC_TASK_INDEX": "1",
            },
            "laptop",
            Peers(("127.0.0.5", "127.0.0.6", "127.0.0.7"), 2),
            id="local runtime, several tasks",
        ),
        pytest.param(
            {
                "MASTER_ADDR": "j-master-0",
                "MASTER_PORT": "23456",
                "WORLD_SIZE": "12",
                "PET_NNODES": "3",
                "RANK": "2",
            },
            "j-worker-1",
            Peers(("j-master-0", "j-worker-0", "j-worker-1"), 2, ("j-master-0", 23456)),
            id="PyTorchJob",
        ),
        pytest.param(
            {"TF_CONFIG": _TF},
            "j-worker-1",
            Peers(("j-worker-0.ns.svc", "j-worker-1.ns.svc", "j-ps-0.ns.svc"), 1),
            id="TFJob",
        ),
        pytest.param({"TF_CONFIG": "{"}, "pod", Peers(), id="broken TF_CONFIG"),
        pytest.param({"TF_CONFIG": "[]"}, "pod", Peers(), id="TF_CONFIG of another form"),
        pytest.param({}, "pod", Peers(), id="no job"),
        pytest.param(
            {"VC_WORKER_HOSTS": "a,b", "VC_TASK_INDEX": "7"},
            "pod",
            Peers(("a", "b")),
            id="too high",
        ),
    ],
)
def test_peers_are_those_of_the_operator(
    env: dict[str, str], hostname: str, expected: Peers
) -> None:
    assert expected == peers(env, hostname, lambda _: None)


def test_peers_of_an_mpijob_are_in_its_host_file() -> None:
    files = {"/etc/mpi/hostfile": "j-worker-0.j slots=2\n# no\n\nj-worker-1:4\n"}
    hosts = ("j-worker-0.j", "j-worker-1")
    assert Peers(hosts, launcher=True) == peers({}, "j-launcher", files.get)
    assert Peers(hosts, 1) == peers({}, "j-worker-1", files.get)


@pytest.mark.parametrize(
    ("form", "expected"),
    [("slots", "a slots=4\nb slots=4\n"), ("hosts", "a\nb\n")],
)
def test_hostfile_has_the_form_that_launchers_read(form: str, expected: str) -> None:
    assert expected == hostfile(Peers(("a", "b"), 0), 4, form)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param("j-worker-1", "j-worker-1.j", id="cut, as mpirun does"),
        pytest.param("j-worker-1.j", "j-worker-1.j", id="whole"),
        pytest.param("127.64.0.2", "127.64.0.2", id="address"),
        pytest.param("127", "127", id="not one of several"),
        pytest.param("elsewhere", "elsewhere", id="no pod of the job"),
    ],
)
def test_a_pod_is_known_by_its_first_label(host: str, expected: str) -> None:
    hosts = ["j-worker-0.j", "j-worker-1.j", "127.64.0.2", "127.64.0.3"]
    assert expected == full_name(host, hosts)
