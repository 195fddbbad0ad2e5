"""`dlf mpi` and `dlf horovod` with the MPI operator: the host's Open MPI and OpenSSH, in pods."""

import re
import subprocess
from collections.abc import Iterator

import pytest

from dlf.errors import ExitCode

from .cluster import Cluster
from .image import WORKER_IMAGE, write_image
from .injector import injecting
from .launch import launched
from .operators import MPI_OPERATOR
from .worker_cluster import DLF, OPEN_MPI_AS_USER, OPEN_MPI_VOLUMES, worker_cluster
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]

_IMAGE = "dlf.test/ssh:1"
_TEXTS = {
    "/etc/passwd": "root:x:0:0::/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/bin/false\n",
    "/etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "/etc/ssh/sshd_config": "HostKey /etc/ssh/host_key\nStrictModes no\n",
    "/etc/ssh/ssh_config": "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n",
    "/run/sshd/.exists": "",
}
_OTHER = {
    "metadata": {"name": "other"},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "other",
                "image": WORKER_IMAGE,
                "resources": {"limits": {"nvidia.com/gpu": "4"}},
            }
        ],
    },
}
"""A pod that has half of the node's GPUs until it is deleted."""


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of this file's own, with the image of its pods: all that is outside of /usr."""
    folder = tmp_path_factory.mktemp("image")
    key, archive = folder / "host_key", folder / "ssh.tar"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    links = {f"/{name}": f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
    write_image(archive, _IMAGE, ["/bin/false"], {"/etc/ssh/host_key": key}, links, _TEXTS)
    with worker_cluster(request, folder, MPI_OPERATOR) as running:
        running.import_image(archive)
        yield running


def _ranks(output: str) -> list[str]:
    lines = (line.partition(" ")[2] for line in output.splitlines())
    return sorted(line for line in lines if line.startswith("rank "))


@pytest.mark.parametrize("framework", ["mpi", "horovod"])
def test_mpi_operator_runs_the_command_on_every_worker(
    workspace: Workspace, framework: str
) -> None:
    """mpirun reaches the workers by ssh and starts a process for each slot."""
    flags = ["--work_images", _IMAGE, "--num_worker", "2", "--working_dir", "/tmp"]
    command = "echo rank $OMPI_COMM_WORLD_RANK on worker ${HOSTNAME##*-}"
    with launched(
        workspace, framework, *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=OPEN_MPI_VOLUMES
    ) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    assert _ranks(output) == ["rank 0 on worker 0", "rank 1 on worker 1"]


def test_workers_need_neither_sshd_nor_root(workspace: Workspace) -> None:
    """With `--remote` dlf's worker serves instead of sshd; the key is the operator's Secret."""
    flags = ["--work_images", OPEN_MPI_AS_USER, "--num_worker", "2", "--slots_per_worker", "2"]
    flags += ["--worker_image", DLF, "--working_dir", "/tmp", "--remote", "--hostfile"]
    command = "echo rank $OMPI_COMM_WORLD_RANK on worker ${HOSTNAME##*-} as $UID"
    with launched(
        workspace, "mpi", *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=OPEN_MPI_VOLUMES
    ) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    expected = [f"rank {rank} on worker {rank // 2} as 1000" for rank in range(4)]
    assert expected == _ranks(output)


def test_mpi_operator_fails_when_a_rank_fails(workspace: Workspace) -> None:
    """mpirun ends with the exit code of the rank, and the launcher's is the job's."""
    flags = ["--work_images", _IMAGE, "--num_worker", "2", "--working_dir", "/tmp"]
    command = "[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 7; sleep 1000"
    with launched(
        workspace, "mpi", *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=OPEN_MPI_VOLUMES
    ) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, output + errors
    assert "(launcher): exit code 7" in errors


def test_mpi_operator_waits_for_a_worker_that_has_to_wait(
    cluster: Cluster, workspace: Workspace
) -> None:
    """The launcher, which needs no card, starts before a worker for which there is none yet."""
    others = f"/api/v1/namespaces/{workspace.namespace}/pods"
    cluster.api.post(others, json=_OTHER).raise_for_status()
    flags = ["--work_images", _IMAGE, "--num_worker", "2", "--working_dir", "/tmp"]
    gpus = {"KFJ_TASK_RESOURCE_GPU": "4", "GPU_RESOURCE_NAME": "nvidia.com/gpu"}
    command = "echo rank $OMPI_COMM_WORLD_RANK"
    with launched(
        workspace,
        "mpi",
        *flags,
        "--command",
        command,
        KFJ_TASK_VOLUME_MOUNT=OPEN_MPI_VOLUMES,
        **gpus,
    ) as dlf:
        assert dlf.stderr is not None
        said = next(line for line in dlf.stderr if "Insufficient nvidia.com/gpu" in line)
        cluster.api.delete(f"{others}/other").raise_for_status()
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, said + output + errors
    assert _ranks(output) == ["rank 0", "rank 1"]


def test_mpi_operator_fails_when_a_worker_is_evicted(
    cluster: Cluster, workspace: Workspace
) -> None:
    """The kubelet evicts what writes too much: the cause, although the launcher fails as well.

    sshd exits 0 on SIGTERM, so that only an event tells of it. In the second job an injected
    container has the pod fail: mpi-operator says Failed while worker 0 still runs.
    """
    writes = "head -c 50000000 /dev/zero > /tmp/full"
    command = f"[ $OMPI_COMM_WORLD_RANK = 1 ] && {writes}; sleep 1000"
    flags = ["--work_images", _IMAGE, "--num_worker", "2", "--working_dir", "/tmp"]
    flags += ["--command", command]
    shared = {
        "KFJ_TASK_VOLUME_MOUNT": OPEN_MPI_VOLUMES,
        "DEFAULT_POD_RESOURCES": '{"ephemeral-storage": "10Mi"}',
    }
    workers = {"training.kubeflow.org/job-role": "worker"}
    with launched(workspace, "mpi", *flags, **shared, KFJ_TASK_ID="1") as plain:
        assert plain.stdout is not None
        assert [] != [plain.stdout.readline() for _ in range(4)]  # of both workers
        with (
            injecting(cluster, workspace.namespace, "shipper", native=False, labels=workers),
            launched(workspace, "mpi", *flags, **shared, KFJ_TASK_ID="2") as injected,
        ):
            _, only_event = plain.communicate()
            output, errors = injected.communicate()
    assert (plain.returncode, injected.returncode) == (ExitCode.FAILED, ExitCode.FAILED), errors
    for said, code in ((only_event, "0"), (errors, "(143|137)")):  # the kubelet waits 0 to 2 s
        (head,) = [line for line in said.splitlines() if " failed: pod " in line]
        assert re.search(rf"-worker-1 \(worker, rank 1\): Evicted, exit code {code}, ", head)
    assert errors.count("the launcher has ended and the job has failed (MPIJobEvicted: ") == 1
    gone = "the node could not read it: unable to retrieve container logs for containerd://"
    assert f"-worker-1/mpi-worker: {gone}" in errors
    assert "unable to retrieve" not in output  # the kubelet writes it where the log should be
