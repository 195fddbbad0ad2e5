"""What a cluster does to pods and their logs, by a real scheduler, taint manager and kubelet.

Each has its twin on the scripted API server, in tests/job, tests/diagnose and tests/logs.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlf.errors import ExitCode

from .cluster import Cluster
from .image import WORKER_IMAGE
from .launch import launched, messages
from .node import is_ready
from .sandbox import wait_until
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180, func_only=True)]

_PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_CARDS = {"KFJ_TASK_RESOURCE_GPU": "4", "GPU_RESOURCE_NAME": "nvidia.com/gpu"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_LOSES_PEER = "until [ -e /mnt/gone ]; do sleep 0.1; done; echo connection closed by peer; exit 1"


@pytest.fixture
def shared(tmp_path: Path) -> dict[str, str]:
    """A folder that all pods have as /mnt, and that outlives them."""
    tmp_path.chmod(0o777)
    return {"KFJ_TASK_VOLUME_MOUNT": f"{tmp_path}(hostpath):/mnt"}


def _flags(command: str) -> list[str]:
    return ["--image", WORKER_IMAGE, "--num_worker", "2", "--command", command]


def _read(dlf: subprocess.Popen[str], count: int) -> list[str]:
    assert dlf.stdout is not None
    return [dlf.stdout.readline() for _ in range(count)]


def _pods(cluster: Cluster, workspace: Workspace) -> dict[str, Any]:
    """The pods, by `master-0` and `worker-0`."""
    answer = cluster.api.get(f"/api/v1/namespaces/{workspace.namespace}/pods").raise_for_status()
    return {
        "-".join(pod["metadata"]["name"].split("-")[-2:]): pod for pod in answer.json()["items"]
    }


def _path(pod: Any) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


@pytest.fixture
def urgent(cluster: Cluster, workspace: Workspace) -> Iterator[dict[str, Any]]:
    """A pod with half of the node's GPUs, before which all others have to give way."""
    name = f"urgent-{workspace.namespace}"
    priority = {"metadata": {"name": name}, "value": 1000}
    cluster.api.post(_PRIORITIES, json=priority).raise_for_status()
    container = {
        "name": "urgent",
        "image": WORKER_IMAGE,
        "command": ["sh", "-c", "trap exit TERM; sleep 1000 & wait"],
        "resources": {"limits": {"nvidia.com/gpu": "4"}},
    }
    spec = {"priorityClassName": name, "containers": [container]}
    yield {"metadata": {"name": "urgent"}, "spec": spec}
    cluster.api.delete(f"{_PRIORITIES}/{name}").raise_for_status()


def test_preempted_rank_is_the_first_cause(
    cluster: Cluster, workspace: Workspace, shared: dict[str, str], urgent: dict[str, Any]
) -> None:
    """It saves when the scheduler takes its GPUs, and its peer fails while it does."""
    saves = "trap 'touch /mnt/gone; sleep 2; exit 143' TERM"
    command = f"{saves}; echo started; ({_LOSES_PEER}) & wait $!; exit 1"
    with launched(workspace, "pytorch", *_flags(command), **shared, **_CARDS) as dlf:
        _read(dlf, 2)
        pods = f"/api/v1/namespaces/{workspace.namespace}/pods"
        cluster.api.post(pods, json=urgent).raise_for_status()
        _, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, errors
    (head,) = [line for line in errors.splitlines() if " failed: pod " in line]
    assert ": PreemptionByScheduler, exit code 143, " in head


@pytest.fixture
def bystander(cluster: Cluster) -> Iterator[Callable[[], None]]:
    """A second node, which takes no pod; to be called again and again, for its heartbeat.

    Without a node that answers, the controller takes its own network for lost and evicts nothing.
    """
    nodes = "/api/v1/nodes"
    node = {"metadata": {"name": "bystander"}, "spec": {"unschedulable": True}}
    cluster.api.post(nodes, json=node).raise_for_status()

    def beat() -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": now}
        change = {"status": {"conditions": [ready]}}
        path = f"{nodes}/bystander/status"
        cluster.api.patch(path, json=change, headers=_MERGE).raise_for_status()

    beat()
    yield beat
    cluster.api.delete(f"{nodes}/bystander").raise_for_status()


def test_rank_on_a_lost_node_is_the_first_cause(
    cluster: Cluster,
    workspace: Workspace,
    tmp_path: Path,
    shared: dict[str, str],
    bystander: Callable[[], None],
) -> None:
    """Its peer fails at once; the cluster takes note of the node much later."""
    fails = f'[ "$RANK" = 1 ] || {{ echo started; {_LOSES_PEER}; }}'
    command = f"{fails}; trap 'exit 143' TERM; echo started; sleep 1000 & wait"

    def is_taken() -> bool:
        bystander()
        return "deletionTimestamp" in _pods(cluster, workspace)["worker-0"]["metadata"]

    with launched(workspace, "pytorch", *_flags(command), **shared) as dlf:
        _read(dlf, 2)
        lost = _pods(cluster, workspace)["worker-0"]
        tolerations = [each | {"tolerationSeconds": 1} for each in lost["spec"]["tolerations"]]
        change = {"spec": {"tolerations": tolerations}}
        cluster.api.patch(_path(lost), json=change, headers=_MERGE).raise_for_status()
        with cluster.sandbox.stopped("kubelet"):
            (tmp_path / "gone").touch()
            wait_until(is_taken, "deletion by the taint manager")
        _, errors = dlf.communicate()
        cluster.sandbox.wait(lambda: is_ready(cluster.api), "node")
    assert dlf.returncode == ExitCode.FAILED, errors
    (head,) = [line for line in errors.splitlines() if " failed: pod " in line]
    assert "-worker-0 (worker, rank 1): DeletionByTaintManager" in head


@contextmanager
def _without_inotify(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Have the kernel refuse the kubelet, and nobody else, new inotify instances."""
    kubelet = str(cluster.sandbox.pid_of("kubelet"))
    refuse = ["-e", "trace=inotify_init1", "-e", "inject=inotify_init1:error=EMFILE"]
    attach = ["strace", "-f", "-o", str(folder / "strace"), *refuse, "-p", kubelet]
    with subprocess.Popen(attach, stderr=subprocess.PIPE, text=True) as strace:
        try:
            assert strace.stderr is not None
            assert "attached" in strace.stderr.readline()
            yield
        finally:
            strace.terminate()
            strace.communicate()


def test_errors_of_the_kubelet_are_told_and_no_lines(
    cluster: Cluster, workspace: Workspace, tmp_path: Path, shared: dict[str, str]
) -> None:
    """It can follow no log, and not read one at all: the first is polled, the second named."""
    report = tmp_path / "report.json"
    writes = "for i in $(seq 1 20); do echo $i; sleep 0.2; done"
    command = f"echo started; until [ -e /mnt/go ]; do sleep 0.1; done; {writes}"
    with _without_inotify(cluster, tmp_path):
        flags = [*_flags(command), "--report", str(report)]
        with launched(workspace, "pytorch", *flags, **shared) as dlf:
            _read(dlf, 2)
            pod = _pods(cluster, workspace)["worker-0"]["metadata"]
            folder = f"/var/log/pods/{pod['namespace']}_{pod['name']}_{pod['uid']}"
            broken = 'ln -sf /nowhere/log "$0"/pytorch/0.log'  # kubelet makes a missing one anew
            cluster.sandbox.check("sh", "-c", broken, folder)
            (tmp_path / "go").touch()
            output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, errors
    assert messages(output) == {"master-0": [str(each) for each in range(1, 21)]}
    cannot_follow = "the node cannot follow the log (failed to create fsnotify watcher: too many"
    assert errors.count(cannot_follow) == 1
    unread = "pytorch: the node could not read it: failed to try resolving symlinks in path "
    warnings = json.loads(report.read_text())["warnings"]
    (warning,) = [each for each in warnings if f"-worker-0/{unread}" in each]
    assert f"note: {warning}" in errors
