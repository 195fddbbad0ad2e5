"""What each operator would start, as a table: pods, ranks and environment."""

import json

import pytest
from local.planning import hosts, planned, ports, rendered

from dlf.frameworks import SUMMARIES, load_framework
from dlf.local.job import LocalJob, local_job
from dlf.task import resources


def environments(job: LocalJob, *prefixes: str) -> dict[str, dict[str, str]]:
    """Pod name without the job's to the variables that begin with one of the prefixes."""
    return {
        process.pod.split("1f2e-")[1]: {
            name: value for name, value in process.env.items() if name.startswith(prefixes)
        }
        for process in job.processes
    }


def test_local_job_pytorch_is_that_of_training_operator() -> None:
    """Every pod meets the Master; the number of processes is the container's own."""
    job = planned(rendered("pytorch", num_worker=2))
    common = {
        "MASTER_ADDR": "127.64.0.1",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "2",
        "PET_NNODES": "2",
        "PET_MASTER_ADDR": "127.64.0.1",
        "PET_MASTER_PORT": "23456",
        "PET_NPROC_PER_NODE": "1",
        "PYTHONUNBUFFERED": "1",
        "NCCL_SOCKET_IFNAME": "lo",
    }
    assert {
        "master-0": common | {"RANK": "0", "PET_NODE_RANK": "0"},
        "worker-0": common | {"RANK": "1", "PET_NODE_RANK": "1"},
    } == environments(job, "MASTER", "WORLD", "RANK", "PET_", "PYTHON", "NCCL_SOCKET")
    master, worker = job.processes
    assert ("pytorchjob-1f2e-master-0", "master", 0) == (master.pod, master.role, master.rank)
    assert ("pytorchjob-1f2e-worker-0", "worker", 1) == (worker.pod, worker.role, worker.rank)
    assert "pytorch" == master.container
    assert ("bash", "-c") == master.argv[:2]
    assert "run me" == master.argv[-1]


def test_local_job_operator_wins_over_the_container() -> None:
    """As on Kubernetes, where the operator appends its variables to the user's."""
    job = planned(rendered("pytorch", num_worker=1, env=(("RANK", "9"), ("MINE", "1"))))
    assert {"master-0": {"RANK": "0", "MINE": "1"}} == environments(job, "RANK", "MINE")


def test_local_job_tf_config_has_a_port_for_each_worker() -> None:
    """TF_CONFIG tells all workers the same cluster, and each one its index."""
    job = planned(rendered("tf", num_worker=2))
    cluster = {"worker": ["127.64.0.1:2222", "127.64.0.2:20000"]}
    expected = [
        {"cluster": cluster, "task": {"type": "worker", "index": index}, "environment": "cloud"}
        for index in range(2)
    ]
    assert expected == [json.loads(process.env["TF_CONFIG"]) for process in job.processes]
    assert ["tensorflow", "tensorflow"] == [process.container for process in job.processes]


def test_local_job_tf_has_the_roles_of_the_strategies() -> None:
    """TF_CONFIG names chief, evaluator and servers too; only chief and workers have ranks."""
    job = planned(rendered("tf", num_chief=1, num_evaluator=1, num_ps=1, num_worker=1))
    assert {
        "chief": ["127.64.0.1:2222"],
        "evaluator": ["127.64.0.2:20000"],
        "ps": ["127.64.0.3:20001"],
        "worker": ["127.64.0.4:20002"],
    } == json.loads(job.processes[0].env["TF_CONFIG"])["cluster"]
    assert [("chief", 0), ("evaluator", None), ("ps", None), ("worker", 1)] == [
        (process.role, process.rank) for process in job.processes
    ]
    assert {frozenset({"tfjob-1f2e-chief-0"})} == set(job.rules.succeed)


def test_local_job_of_one_pod_is_the_well_known_address() -> None:
    """Some launchers know 127.0.0.1 only; a pod that is alone is told apart from nobody."""
    (process,) = planned(rendered("pytorch", num_worker=1)).processes
    assert ("127.0.0.1", "23456") == (process.env["MASTER_ADDR"], process.env["MASTER_PORT"])


def test_local_job_tf_of_one_worker_has_no_config() -> None:
    """The operator gives none to a job of one replica."""
    (process,) = planned(rendered("tf", num_worker=1)).processes
    assert "TF_CONFIG" not in process.env


def test_local_job_paddle_meets_in_worker_0() -> None:
    """Collective training: no rank is injected, worker 0 serves the rendezvous."""
    common = {
        "PADDLE_JOB_ID": "paddlejob-1f2e",
        "PADDLE_NNODES": "2",
        "PADDLE_MASTER": "127.64.0.1:36543",
    }
    assert {
        "worker-0": common | {"POD_IP": "127.64.0.1", "POD_IP_DUMMY": "127.64.0.1"},
        "worker-1": common | {"POD_IP": "127.64.0.2"},
    } == environments(planned(rendered("paddle", num_worker=2)), "PADDLE_", "POD_IP")


def test_local_job_paddle_meets_in_the_master() -> None:
    """With parameter servers, each role is told what it is."""
    common = {
        "PADDLE_JOB_ID": "paddlejob-1f2e",
        "PADDLE_NNODES": "2",
        "PADDLE_MASTER": "127.64.0.1:36543",
    }
    assert {
        "master-0": common
        | {"POD_IP": "127.64.0.1", "POD_IP_DUMMY": "127.64.0.1", "PADDLE_SERVER_NUM": "1"},
        "worker-0": common | {"POD_IP": "127.64.0.2", "PADDLE_TRAINER_NUM": "1"},
    } == environments(planned(rendered("paddle", num_ps=1, num_worker=1)), "PADDLE_", "POD_IP")


def test_local_job_mxnet_has_the_variables_of_ps_lite() -> None:
    """DMLC_* for ps-lite, with the scheduler's port, and all addresses in MX_CONFIG."""
    job = planned(rendered("mxnet", num_ps=1, num_worker=1))
    common = {
        "DMLC_PS_ROOT_URI": "127.64.0.1",
        "DMLC_PS_ROOT_PORT": "9091",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": "1",
        "DMLC_USE_KUBERNETES": "1",
    }
    assert {
        "scheduler-0": common | {"DMLC_ROLE": "scheduler"},
        "server-0": common | {"DMLC_ROLE": "server"},
        "worker-0": common | {"DMLC_ROLE": "worker", "DMLC_WORKER_ID": "0"},
    } == environments(job, "DMLC_")
    assert {
        "cluster": {
            "scheduler": [{"url": "127.64.0.1", "port": 9091}],
            "server": [{"url": "127.64.0.2", "port": 20000}],
            "worker": [{"url": "127.64.0.3", "port": 20001}],
        },
        "labels": {"scheduler": "", "server": "", "worker": ""},
        "task": {"type": "worker", "index": 0},
    } == json.loads(job.processes[2].env["MX_CONFIG"])


def test_local_job_mxnet_on_volcano_has_one_address_for_the_scheduler() -> None:
    """The rendered address and port of the scheduler become those of this machine."""
    job = planned(rendered("mxnet", volcano=True, num_worker=1))
    expected = {"DMLC_PS_ROOT_URI": "127.64.0.1", "DMLC_PS_ROOT_PORT": "9091"}
    assert {"scheduler-0": expected, "worker-0": expected} == environments(job, "DMLC_PS")


def test_local_job_volcano_has_the_variables_of_the_plugins() -> None:
    """Index within the task, hosts and size of each task, files in place of /etc/volcano."""
    job = planned(rendered("megatron", cluster=(("ps-x", 1), ("worker", 2))))
    common = {
        "VC_PS_X_HOSTS": "127.64.0.1",
        "VC_PS_X_NUM": "1",
        "VC_WORKER_HOSTS": "127.64.0.2,127.64.0.3",
        "VC_WORKER_NUM": "2",
        "DLF_VOLCANO_DIR": "/scratch",
    }
    assert {
        pod: common | {"VC_TASK_INDEX": index, "VK_TASK_INDEX": index, "VC_TASK_ROLE": role}
        for pod, role, index in (
            ("ps-x-0", "ps-x", "0"),
            ("worker-0", "worker", "0"),
            ("worker-1", "worker", "1"),
        )
    } == environments(job, "VC_", "VK_", "DLF_")
    assert [0, 1, 2] == [process.rank for process in job.processes]
    assert {"ps_x.host": "127.64.0.1\n", "worker.host": "127.64.0.2\n127.64.0.3\n"} == job.files


def test_local_job_volcano_torch_meets_in_the_first_pod() -> None:
    """The rendered rendezvous, by the name of a host of the svc plugin, is on this machine."""
    job = planned(rendered("deepspeed", num_worker=2))
    expected = {
        "MASTER_ADDR": "127.64.0.1",
        "MASTER_PORT": "23456",
        "PET_MASTER_ADDR": "127.64.0.1",
        "PET_MASTER_PORT": "23456",
    }
    assert {"worker-0": expected, "worker-1": expected} == environments(job, "MASTER", "PET_MASTER")


def test_local_job_mpi_has_a_host_for_each_worker() -> None:
    """mpirun finds all workers in its host file; Open MPI 5 one host; the launcher is the job."""
    job = planned(rendered("horovod", num_worker=3, slots_per_worker=2))
    (launcher,) = job.processes
    assert ("horovod-1f2e-launcher", None) == (launcher.pod, launcher.rank)
    assert ("mpirun", "-np", "6") == launcher.argv[3:6]
    assert "/scratch/hostfile" == launcher.env["OMPI_MCA_orte_default_hostfile"]
    assert "/scratch/hostfile-of-one" == launcher.env["PRTE_MCA_prte_default_hostfile"]
    assert "sh /scratch/rsh" == launcher.env["OMPI_MCA_plm_rsh_agent"]
    assert {
        "hostfile": "127.64.0.1 slots=2\n127.64.0.2 slots=2\n127.64.0.3 slots=2\n",
        "hostfile-of-one": "localhost slots=6\n",
    } == job.files
    assert [(f"127.64.0.{index + 1}", f"horovod-1f2e-worker-{index}") for index in range(3)] == [
        (address, worker.pod) for address, worker in job.workers
    ]
    assert "the 3 workers are started by mpirun, for its ranks" == job.note


def test_local_job_mpi_keeps_what_workers_share_apart() -> None:
    """Open MPI names files by host name and rank: workers of one machine need a folder each."""
    job = planned(rendered("mpi", num_worker=2))
    folders = [worker.env["OMPI_MCA_btl_vader_backing_directory"] for _, worker in job.workers]
    assert ["/scratch/mpijob-1f2e-worker-0", "/scratch/mpijob-1f2e-worker-1"] == folders


def test_local_job_mpi_with_one_address_has_one_host() -> None:
    """Where all workers are 127.0.0.1 that is one host, with the slots of all."""
    job = local_job(
        rendered("mpi", num_worker=3, slots_per_worker=2),
        leader="",
        new_host=lambda: "127.0.0.1",
        new_port=ports(),
        scratch="/scratch",
    )
    assert "127.0.0.1 slots=6\n" == job.files["hostfile"]


@pytest.mark.parametrize(("offline", "interface"), [(True, "lo"), (False, None)])
def test_local_job_mpi_offline_uses_loopback(offline: bool, interface: str | None) -> None:
    """Open MPI leaves loopback out unless told. Where there is a network the command may tell."""
    job = local_job(
        rendered("mpi"),
        leader="",
        new_host=hosts(),
        new_port=ports(),
        scratch="/scratch",
        is_offline=offline,
    )
    assert interface == job.processes[0].env.get("OMPI_MCA_btl_tcp_if_include")


def test_local_job_mpi_accelerators_are_the_workers() -> None:
    """Each worker has its own; the launcher sees those of all, for ranks that it starts itself."""
    job = planned(rendered("mpi", num_worker=2, gpu=resources.gpu("4")))
    assert [4, 4] == [worker.accelerators for _, worker in job.workers]
    assert 8 == job.processes[0].accelerators


@pytest.mark.parametrize("name", SUMMARIES)
def test_local_job_covers_every_framework(name: str) -> None:
    """The default job of each framework can be started, with commands as rendered."""
    framework = load_framework(name)
    manifest = framework.manifest(framework.settings(), framework.kinds[0], "1f2e")
    job = planned(manifest, framework.leader)
    names = [process.pod for process in job.processes]
    assert len(set(names)) == len(names) > 0
    assert all(name.startswith(f"{manifest.metadata.name}-") for name in names)
    assert all(process.argv for process in job.processes)


def test_local_job_elastic_pytorch_meets_at_worker_0() -> None:
    """torchrun's own rendezvous; there is no Master and no fixed rank."""
    job = planned(rendered("pytorch", num_worker=2, min_worker=1))
    common = {
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "127.64.0.1:23456",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
    }
    assert {"worker-0": common, "worker-1": common} == environments(job, "MASTER", "RANK", "PET_")


def test_local_job_gives_each_role_its_own_accelerators() -> None:
    """Servers get none where `--role` says so."""
    role = (resources.role_resources("ps:gpu=0"),)
    job = planned(rendered("tf", num_worker=1, num_ps=1, gpu=resources.gpu("2"), role=role))
    assert {"ps": 0, "worker": 2} == {each.role: each.accelerators for each in job.processes}
