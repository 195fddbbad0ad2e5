"""Histories from public bug reports, produced by a real kubelet, API server and Volcano.

Each has its twin on the scripted API server, in tests/job and tests/diagnose.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlf.errors import ExitCode

from .cluster import Cluster, running_cluster
from .image import WORKER_IMAGE
from .injector import injecting
from .launch import finished, launched, messages
from .ranks import IDLE
from .sandbox import wait_until
from .volcano import VOLCANO
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180, func_only=True)]

_SAVES = "trap 'echo saved; exit 0' TERM"
_WAITS = "echo started; sleep 1000 & wait"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of this file's own."""
    with running_cluster(VOLCANO) as running:
        yield running


@pytest.fixture
def shared(tmp_path: Path) -> dict[str, str]:
    """A folder that all pods have as /mnt, and that outlives them."""
    tmp_path.chmod(0o777)
    return {"KFJ_TASK_VOLUME_MOUNT": f"{tmp_path}(hostpath):/mnt"}


def _flags(command: str, workers: int = 2) -> list[str]:
    return ["--image", WORKER_IMAGE, "--num_worker", str(workers), "--command", command]


def _jobs(cluster: Cluster, workspace: Workspace) -> list[Any]:
    answer = cluster.api.get(_collection(workspace)).raise_for_status()
    return list(answer.json()["items"])


def _collection(workspace: Workspace) -> str:
    return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{workspace.namespace}/jobs"


def _read(dlf: subprocess.Popen[str], count: int) -> list[str]:
    assert dlf.stdout is not None
    return [dlf.stdout.readline() for _ in range(count)]


@pytest.mark.parametrize(("code", "expected"), [(0, ExitCode.SUCCEEDED), (3, ExitCode.FAILED)])
def test_leader_that_a_restart_stops_has_not_succeeded(
    workspace: Workspace, shared: dict[str, str], code: int, expected: ExitCode
) -> None:
    """Worker 0 saves and exits 0 when Volcano restarts the job: the second attempt counts."""
    again = f"[ -e /mnt/failed ] && {{ echo again; exit {code}; }}"
    fails = "until [ -e /mnt/ready ]; do sleep 0.1; done; touch /mnt/failed; exit 1"
    first = f'if [ "$VC_TASK_INDEX" = 1 ]; then {fails}; fi'
    command = f"{again}; {first}; {_SAVES}; touch /mnt/ready; {_WAITS}"
    flags = [*_flags(command), "--max_retry", "1"]
    result, printed, errors = finished(workspace, "deepspeed", *flags, **shared)
    assert (result, printed["worker-0"][-1]) == (expected, "again"), errors


def test_job_that_someone_deletes_has_not_succeeded_when_its_pods_exit_0(
    workspace: Workspace, cluster: Cluster
) -> None:
    """All of them catch SIGTERM and end cleanly."""
    with launched(workspace, "mindspore", *_flags(f"{_SAVES}; {_WAITS}")) as dlf:
        _read(dlf, 2)
        (job,) = _jobs(cluster, workspace)
        name = job["metadata"]["name"]
        cluster.api.delete(f"{_collection(workspace)}/{name}").raise_for_status()
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.DELETED, errors
    assert messages(output) == {"worker-0": ["saved"], "worker-1": ["saved"]}
    assert f"Volcano Job {name} was deleted by someone else" in errors


def test_evicted_rank_that_exits_0_is_the_first_cause(
    workspace: Workspace, cluster: Cluster, shared: dict[str, str]
) -> None:
    """Evicted through the Eviction API, it saves and exits 0; its peers fail before it ends."""
    leaves = "trap 'touch /mnt/gone; sleep 2; exit 0' TERM"
    misses = "until [ -e /mnt/gone ]; do sleep 0.1; done; echo connection closed by peer; exit 1"
    command = f'[ "$VC_TASK_INDEX" = 1 ] || {{ echo started; {misses}; }}; {leaves}; {_WAITS}'
    with launched(workspace, "mindspore", *_flags(command, 3), **shared) as dlf:
        _read(dlf, 3)
        (job,) = _jobs(cluster, workspace)
        name = job["metadata"]["name"]
        pod = {"name": f"{name}-worker-1", "namespace": workspace.namespace}
        path = f"/api/v1/namespaces/{workspace.namespace}/pods/{pod['name']}/eviction"
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": pod}
        cluster.api.post(path, json=eviction).raise_for_status()
        _, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, errors
    cause = (
        f"Volcano Job {name} failed: pod {name}-worker-1 (worker, rank 1): EvictionByEvictionAPI"
    )
    assert cause in errors


def test_native_sidecar_that_is_killed_at_the_end_is_no_failure(
    workspace: Workspace, cluster: Cluster
) -> None:
    """The kubelet ends it with 143 after the training; `--strict` does not count it."""
    with injecting(cluster, workspace.namespace, "shipper", native=True):
        flags = [*_flags("echo done"), "--strict"]
        code, printed, errors = finished(workspace, "mindspore", *flags)
    ends = _ends(cluster, workspace, "initContainerStatuses")
    assert ends == {"worker-0": {"shipper": 143}, "worker-1": {"shipper": 143}}
    expected = {"worker-0": ["done"], "worker-1": ["done"]}
    assert (code, printed) == (ExitCode.SUCCEEDED, expected), errors
    assert "although the job succeeded" not in errors


def _ends(cluster: Cluster, workspace: Workspace, statuses: str) -> dict[str, dict[str, int]]:
    """The exit codes of the containers of all pods."""
    pods = cluster.api.get(f"/api/v1/namespaces/{workspace.namespace}/pods").json()["items"]
    return {
        "-".join(pod["metadata"]["name"].split("-")[-2:]): {
            each["name"]: each["state"]["terminated"]["exitCode"]
            for each in pod["status"][statuses]
        }
        for pod in pods
    }


def test_sidecar_that_outlives_the_training_does_not_keep_the_step(
    workspace: Workspace, cluster: Cluster
) -> None:
    """It is told, and the job ends with the training's result; both results at the same time."""
    with (
        injecting(cluster, workspace.namespace, "shipper", native=False),
        launched(workspace, "mindspore", *_flags("echo done"), KFJ_TASK_ID="1") as well,
        launched(workspace, "mindspore", *_flags("exit 7"), KFJ_TASK_ID="2") as badly,
    ):
        _, succeeded = well.communicate()
        _, failed = badly.communicate()
    assert well.returncode == ExitCode.SUCCEEDED, succeeded
    assert badly.returncode == ExitCode.FAILED, failed
    assert "(worker, rank 0): exit code 7" in failed
    for errors in (succeeded, failed):
        assert "the training has ended, but container shipper" in errors
        assert "its training has ended; container shipper of pod" in errors
    assert _jobs(cluster, workspace) == []


def test_hang_timeout_stops_the_job_and_names_the_rank_that_raised(
    workspace: Workspace, cluster: Cluster
) -> None:
    """A traceback of Python's own, and then nothing from any rank."""
    raises = "python3 -c 'raise ValueError(\"no data\")'"
    command = f'[ "$VC_TASK_INDEX" = 0 ] || {raises}; {IDLE}'
    flags = [*_flags(command), "--hang_timeout", "10s"]
    with launched(workspace, "mindspore", *flags) as dlf:
        _, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.TIMEOUT, errors
    assert "hung: no line and no change for 10s (--hang_timeout): pod " in errors
    (head,) = [line for line in errors.splitlines() if " hung: " in line]
    assert "-worker-1 (worker, rank 1): " in head
    assert head.endswith("ValueError: no data")
    assert 'File "<string>", line 1, in <module>' in errors
    assert "-worker-0 (worker, rank 0): Running, silent" in errors
    assert _jobs(cluster, workspace) == []


def test_job_that_is_being_deleted_is_waited_for_and_replaced(
    workspace: Workspace, cluster: Cluster, shared: dict[str, str]
) -> None:
    """A finalizer holds the job of the try before; nothing attaches to it."""
    command = f"[ -e /mnt/tried ] && {{ echo again; exit; }}; touch /mnt/tried; {IDLE}"
    flags = _flags(command, 1)
    with launched(workspace, "deepspeed", *flags, **shared) as dlf:
        assert "started" in _read(dlf, 1)[0]
    (job,) = _jobs(cluster, workspace)
    name = job["metadata"]["name"]
    path = f"{_collection(workspace)}/{name}"
    patch = {"Content-Type": "application/merge-patch+json"}

    def hold(*finalizers: str) -> None:
        change = {"metadata": {"finalizers": finalizers}}
        cluster.api.patch(path, json=change, headers=patch).raise_for_status()

    hold("dlf.test/hold")
    cluster.api.delete(path).raise_for_status()
    with launched(workspace, "deepspeed", *flags, **shared) as dlf:
        assert dlf.stderr is not None
        waiting = f"waiting until Volcano Job {name}, an earlier job of this task, is gone"
        assert any(waiting in line for line in dlf.stderr)
        hold()
        output, errors = dlf.communicate()
    assert (dlf.returncode, messages(output)) == (ExitCode.SUCCEEDED, {"worker-0": ["again"]}), (
        errors
    )
    assert name not in [job["metadata"]["name"] for job in _jobs(cluster, workspace)]


def test_failed_job_whose_pods_run_on_is_deleted(workspace: Workspace, cluster: Cluster) -> None:
    """Volcano has lost track of the pods of a job that it has ended.

    No way is known to make this release do so: it is stopped, and the status is the test's.
    """
    patch = {"Content-Type": "application/merge-patch+json"}
    failed = {"status": {"state": {"phase": "Failed", "reason": "lost track"}}}
    with launched(workspace, "mindspore", *_flags(IDLE)) as dlf:
        _read(dlf, 2)
        (job,) = _jobs(cluster, workspace)
        name = job["metadata"]["name"]
        with cluster.sandbox.stopped("vc-controller-manager"):
            path = f"{_collection(workspace)}/{name}/status"
            cluster.api.patch(path, json=failed, headers=patch).raise_for_status()
            _, errors = dlf.communicate()
            wait_until(lambda: not _jobs(cluster, workspace), "end of the job")
    assert dlf.returncode == ExitCode.FAILED, errors
    assert f"deleting Volcano Job {name}: its operator does not stop its pods" in errors
    assert f"Volcano Job {name} failed: lost track" in errors
