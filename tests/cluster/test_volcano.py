"""The frameworks that run as Volcano Jobs, with Volcano's controllers, scheduler and webhooks."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from dlf.errors import ExitCode

from .cluster import Cluster, running_cluster
from .image import WORKER_IMAGE
from .launch import finished, launched, messages
from .ranks import IDLE, MEET
from .sandbox import wait_until
from .volcano import VOLCANO
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180, func_only=True)]

_RANK = f"echo $VC_TASK_ROLE rank $RANK of $WORLD_SIZE; python3 -c '{MEET}'"
_HOSTS = (
    "export MASTER_ADDR=${VC_WORKER_HOSTS%%,*} MASTER_PORT=8118"
    " RANK=$VC_TASK_INDEX WORLD_SIZE=$VC_WORKER_NUM; "
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of this file's own."""
    with running_cluster(VOLCANO) as running:
        yield running


def _jobs(workspace: Workspace, client: kubernetes.client.ApiClient) -> list[Any]:
    api = kubernetes.client.CustomObjectsApi(client)
    where = ("batch.volcano.sh", "v1alpha1", workspace.namespace, "jobs")
    listed: dict[str, list[Any]] = api.list_namespaced_custom_object(*where)  # type: ignore[assignment]
    return listed["items"]


def _running(workspace: Workspace, client: kubernetes.client.ApiClient) -> list[str]:
    core = kubernetes.client.CoreV1Api(client)
    unfinished = "status.phase!=Succeeded,status.phase!=Failed"
    pods = core.list_namespaced_pod(workspace.namespace, field_selector=unfinished).items
    return [pod.metadata.name for pod in pods]  # type: ignore[union-attr,misc]


@pytest.mark.parametrize(
    ("framework", "flags", "command", "expected"),
    [
        pytest.param(
            "deepspeed",
            ["--num_worker", "3"],
            _RANK,
            {f"worker-{rank}": [f"worker rank {rank} of 3"] for rank in range(3)},
            id="deepspeed",
        ),
        pytest.param(
            "megatron",
            ["--cluster", "first=1,other=2"],
            _RANK,
            {
                "first-0": ["first rank 0 of 3"],
                "other-0": ["other rank 1 of 3"],
                "other-1": ["other rank 2 of 3"],
            },
            id="megatron",
        ),
        pytest.param(
            "mindspore",
            ["--num_worker", "2"],
            _HOSTS + _RANK,
            {f"worker-{rank}": [f"rank {rank} of 2"] for rank in range(2)},
            id="mindspore",
        ),
    ],
)
def test_volcano_job_succeeds_when_its_pods_have_met(
    workspace: Workspace,
    framework: str,
    flags: list[str],
    command: str,
    expected: dict[str, list[str]],
) -> None:
    """Volcano admits and starts the gang, and each pod knows its part and finds the first one."""
    flags = [*flags, "--image", WORKER_IMAGE, "--command", command]
    code, printed, errors = finished(workspace, framework, *flags)
    assert (code, printed) == (ExitCode.SUCCEEDED, expected), errors


def test_colossalai_is_completed_when_its_first_worker_is(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """Worker 0 decides, and Volcano itself stops the others."""
    command = f"python3 -c '{MEET}'; [ $RANK = 0 ] || {{ {IDLE}; }}"
    flags = ["--work_images", WORKER_IMAGE, "--num_worker", "3", "--working_dir", "/tmp"]
    with launched(workspace, "colossalai", *flags, "--command", command) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    wait_until(lambda: _running(workspace, client) == [], "end of the other workers")

    def phases() -> list[str]:
        return [job["status"]["state"]["phase"] for job in _jobs(workspace, client)]

    wait_until(lambda: phases() == ["Completed"], "completion by Volcano")


def test_volcano_job_fails_when_a_rank_fails(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """The rank's exit code is told, the peers are stopped, and the failed pod's log is kept."""
    command = f'[ "$VC_TASK_INDEX" = 1 ] && echo about to fail && exit 7; {IDLE}'
    flags = ["--image", WORKER_IMAGE, "--num_worker", "3", "--command", command]
    with launched(workspace, "mindspore", *flags) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.FAILED, output + errors
    assert "worker-1 (worker, rank 1): exit code 7" in errors
    assert messages(output)["worker-1"] == ["about to fail"]
    wait_until(lambda: _running(workspace, client) == [], "end of the other workers")
    (job,) = _jobs(workspace, client)
    core = kubernetes.client.CoreV1Api(client)
    failed = f"{job['metadata']['name']}-worker-1"
    kept = core.read_namespaced_pod_log(failed, workspace.namespace)
    assert (job["status"]["state"]["phase"], kept) == ("Failed", "about to fail\n")


def test_volcano_job_is_tried_again_as_often_as_allowed(
    workspace: Workspace, tmp_path: Path
) -> None:
    """All pods start anew; the lines of both attempts are printed, and the second one counts."""
    flags = ["--image", WORKER_IMAGE, "--num_worker", "2", "--max_retry", "1"]
    first = "[ -e /mnt/tried ] || { touch /mnt/tried; echo first; exit 7; }"
    command = f"[ $VC_TASK_INDEX = 1 ] || {first}; {_HOSTS} python3 -c '{MEET}'; echo met"
    volume = f"{tmp_path}(hostpath):/mnt"
    with launched(
        workspace, "mindspore", *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=volume
    ) as dlf:
        output, errors = dlf.communicate()
    expected = {"worker-0": ["first", "met"], "worker-1": ["met"]}
    assert (dlf.returncode, messages(output)) == (ExitCode.SUCCEEDED, expected), errors


def test_volcano_job_is_deleted_on_sigterm(
    workspace: Workspace, client: kubernetes.client.ApiClient
) -> None:
    """A stopped task leaves nothing running."""
    flags = ["--image", WORKER_IMAGE, "--num_worker", "2", "--command", IDLE]
    with launched(workspace, "deepspeed", *flags) as dlf:
        assert dlf.stdout is not None
        assert "started" in dlf.stdout.readline()
        dlf.send_signal(signal.SIGTERM)
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SIGTERM, output + errors
    assert (_jobs(workspace, client), _running(workspace, client)) == ([], [])


def test_volcano_says_why_a_gang_is_pending(workspace: Workspace) -> None:
    """The queue has the 8 GPUs of the node, so 9 are not admitted; the PodGroup tells it."""
    flags = ["--image", WORKER_IMAGE, "--cluster", "worker=3", "--command", IDLE]
    gpus = {"KFJ_TASK_RESOURCE_GPU": "3", "GPU_RESOURCE_NAME": "nvidia.com/gpu"}
    expected = "3 not there, queue default has not admitted the gang of 3: NotEnoughResources: "
    with launched(workspace, "megatron", *flags, **gpus) as dlf:
        assert dlf.stderr is not None
        assert any(expected in line for line in dlf.stderr)
