"""`dlf worker` in pods of a Volcano Job, brought from dlf's image into images that have nothing."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import kubernetes
import pytest
from worker.orphans import COUNT, ORPHANS

from dlf.errors import ExitCode
from dlf.preflight.permissions import rules

from .cluster import Cluster
from .image import WORKER_IMAGE
from .launch import PROJECT, finished, launched, messages
from .sandbox import wait_until
from .worker_cluster import (
    DLF,
    OPEN_MPI,
    OPEN_MPI_AS_USER,
    OPEN_MPI_VOLUMES,
    SCRATCH,
    worker_cluster,
)
from .workspace import SERVICE_ACCOUNT, Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]

_WORKER = ["--worker_image", DLF, "--num_worker", "3", "--working_dir", "/tmp"]
_READY = "echo ready; sleep 1000 & wait"


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of this file's own, with dlf's image, one FROM scratch, and one for Open MPI."""
    with worker_cluster(request, tmp_path_factory.mktemp("images")) as running:
        yield running


def _running(workspace: Workspace, client: kubernetes.client.ApiClient) -> list[str]:
    core = kubernetes.client.CoreV1Api(client)
    unfinished = "status.phase!=Succeeded,status.phase!=Failed"
    pods = core.list_namespaced_pod(workspace.namespace, field_selector=unfinished).items
    return [pod.metadata.name for pod in pods]  # type: ignore[union-attr,misc]


def test_processes_share_each_pod_and_wait_for_their_peers(workspace: Workspace) -> None:
    """Three pods, two processes each, started when the names of all pods resolve."""
    flags = [*_WORKER, "--image", WORKER_IMAGE, "--processes", "2", "--wait_peers"]
    command = "echo rank $VC_TASK_INDEX:"
    code, printed, errors = finished(workspace, "mindspore", *flags, "--command", command)
    expected = {
        f"worker-{rank}": [
            f"[{index}] rank {rank}: --process_index {index} --process_num 2" for index in range(2)
        ]
        for rank in range(3)
    }
    lines = {pod: sorted(each) for pod, each in printed.items()}
    assert (ExitCode.SUCCEEDED, expected) == (code, lines), errors


def test_an_image_from_scratch_needs_no_shell(workspace: Workspace) -> None:
    """Its only file is one static program."""
    flags = [*_WORKER, "--image", SCRATCH, "--processes", "2", "--process_env"]
    code, printed, errors = finished(
        workspace, "mindspore", *flags, "--command", "/busybox echo 'no  shell'"
    )
    lines = ["[0] no  shell", "[1] no  shell"]
    expected = {f"worker-{rank}": lines for rank in range(3)}
    sorted_lines = {pod: sorted(each) for pod, each in printed.items()}
    assert (ExitCode.SUCCEEDED, expected) == (code, sorted_lines), errors


def test_a_killed_process_fails_its_pod_and_the_job(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """The exit code is the process's own, and nothing goes on."""
    command = f'[ "$RANK$PROCESS_INDEX" = 11 ] && kill -9 $$; {_READY}'
    flags = [*_WORKER, "--image", WORKER_IMAGE, "--processes", "2", "--process_env"]
    with launched(workspace, "deepspeed", *flags, "--command", command) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, output + errors
    assert "worker-1 (worker, rank 1): exit code 137" in errors
    told = (
        "dlf: process 1 was killed by SIGKILL (exit code 137), as when the container is out of"
        " memory; stopping the other 1"
    )
    assert told in messages(output)["worker-1"]
    wait_until(lambda: _running(workspace, client) == [], "end of the other workers")


def test_a_deleted_pod_ends_the_job(
    workspace: Workspace, client: kubernetes.client.ApiClient, cluster: Cluster
) -> None:
    """Its processes get SIGTERM and may save; the job has failed, and no pod goes on."""
    flags = [*_WORKER, "--image", WORKER_IMAGE, "--processes", "2"]
    command = f"trap 'echo saved; exit 0' TERM; {_READY} #"
    with launched(workspace, "deepspeed", *flags, "--command", command) as dlf:
        assert dlf.stdout is not None
        read = [dlf.stdout.readline() for _ in range(6)]
        (pod,) = {line.split()[0] for line in read if "-worker-2 " in line}
        path = f"/api/v1/namespaces/{workspace.namespace}/pods/{pod}"
        cluster.api.delete(path).raise_for_status()
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, output + errors
    assert Counter(messages(output)["worker-2"]) == {"[0] saved": 1, "[1] saved": 1}
    wait_until(lambda: _running(workspace, client) == [], "end of the other workers")


def test_a_trainer_saves_when_the_launcher_is_stopped(
    workspace: Workspace, client: kubernetes.client.ApiClient, tmp_path: Path
) -> None:
    """SIGTERM to dlf deletes the job; the worker passes the kubelet's SIGTERM on to all."""
    tmp_path.chmod(0o777)
    flags = [*_WORKER, "--image", WORKER_IMAGE, "--processes", "2", "--process_env"]
    command = f"trap 'sleep 2; echo > /mnt/saved/$RANK-$PROCESS_INDEX; exit 0' TERM; {_READY}"
    volume = {"KFJ_TASK_VOLUME_MOUNT": f"{tmp_path}(hostpath):/mnt/saved"}
    with launched(workspace, "deepspeed", *flags, "--command", command, **volume) as dlf:
        assert dlf.stdout is not None
        for _ in range(6):
            assert "ready" in dlf.stdout.readline()
        dlf.send_signal(signal.SIGTERM)
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SIGTERM, output + errors
    wait_until(lambda: _running(workspace, client) == [], "end of the pods")
    expected = [f"{rank}-{index}" for rank in range(3) for index in range(2)]
    assert expected == sorted(path.name for path in tmp_path.iterdir())


def test_a_thousand_children_are_reaped(workspace: Workspace) -> None:
    """The worker is process 1 of its container: orphans become its children, and are counted."""
    command = f"cat > /tmp/orphans.py <<'END'\n{ORPHANS}\nEND\npython3 /tmp/orphans.py #"
    flags = [*_WORKER, "--num_worker", "1", "--image", WORKER_IMAGE, "--processes", "2"]
    code, printed, errors = finished(workspace, "deepspeed", *flags, "--command", command)
    expected = [f"[{index}] {COUNT} orphans, 0 left" for index in (0, 1)]
    assert (ExitCode.SUCCEEDED, expected) == (code, sorted(printed["worker-0"])), errors


@pytest.mark.parametrize(("image", "user"), [(OPEN_MPI, "0"), (OPEN_MPI_AS_USER, "1000")])
def test_mpirun_reaches_all_pods_without_sshd(workspace: Workspace, image: str, user: str) -> None:
    """Open MPI starts its daemons by the worker's ssh; the token is Volcano's Secret of the job."""
    rank = "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in pod $VC_TASK_INDEX as $UID"
    command = (
        "mpirun --allow-run-as-root --hostfile $DLF_WORKER_HOSTFILE --map-by slot"
        f" -np 6 bash -c '{rank}'"
    )
    flags = [*_WORKER, "--image", image, "--remote", "--hostfile", "--slots", "2"]
    code, printed, errors = finished(
        workspace, "deepspeed", *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=OPEN_MPI_VOLUMES
    )
    expected = [f"rank {rank} of 6 in pod {rank // 2} as {user}" for rank in range(6)]
    assert (ExitCode.SUCCEEDED, {"worker-0": expected}) == (
        code,
        {pod: sorted(lines) for pod, lines in printed.items()},
    ), errors


def test_stacks_show_the_odd_rank_first(workspace: Workspace, cluster: Cluster) -> None:
    """One rank is elsewhere: told through the API server, with the Role for that alone."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{workspace.namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "stacks"}
    account = {"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": workspace.namespace}
    metadata = {"name": "stacks"}
    for path, manifest in (
        ("roles", {"metadata": metadata, "rules": rules("stacks", cluster=False)}),
        ("rolebindings", {"metadata": metadata, "roleRef": role, "subjects": [account]}),
    ):
        cluster.api.post(f"{rbac}/{path}", json=manifest).raise_for_status()
    lines = ["import os, time", "def load(): print('ready', flush=True); time.sleep(1000)"]
    lines += ["def reduce(): print('ready', flush=True); time.sleep(1000)"]
    lines += ["load() if os.environ['RANK'] == '1' else reduce()"]
    script = "\n".join(lines)
    flags = [*_WORKER, "--image", WORKER_IMAGE, "--stacks"]
    command = f'cat > /tmp/t.py <<"END"\n{script}\nEND\npython3 /tmp/t.py'
    with launched(workspace, "deepspeed", *flags, "--command", command) as dlf:
        assert dlf.stdout is not None
        (job,) = {dlf.stdout.readline().partition("-worker-")[0] for _ in range(3)}
        done = subprocess.run(
            [sys.executable, "-m", "dlf", "stacks", job, "--namespace", workspace.namespace],
            cwd=PROJECT,
            env={**os.environ, "KUBECONFIG": str(workspace.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
        )
        dlf.send_signal(signal.SIGTERM)
        dlf.communicate()
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [f"{job}-worker-1:", f"{job}-worker-0, {job}-worker-2 (2 pods are alike):"] == heads, (
        done.stderr
    )
    frames = [line.strip() for line in done.stdout.splitlines() if "File" in line]
    assert ('File "/tmp/t.py", line 2 in load', 'File "/tmp/t.py", line 3 in reduce') == (
        frames[0],
        frames[2],
    )
