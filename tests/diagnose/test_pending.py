"""Why a job does not start: one sentence on stderr, and again only when it changes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fake_api.store import Collection
from job.pytorch_histories import JOB, MASTER, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import NAMESPACE, SimulatedCluster

from dlf.errors import ExitCode

NOT_FOUND = 'failed to resolve reference "img": img: not found'
SLOW = "dial tcp 10.0.0.1:443: i/o timeout"


def scheduler(cluster: SimulatedCluster, pod: str) -> None:
    cluster.unschedulable(pod, "0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 cordoned")


def no_claim(cluster: SimulatedCluster, pod: str) -> None:
    cluster.unschedulable(pod, 'persistentvolumeclaim "data" not found')


def slow_registry(cluster: SimulatedCluster, pod: str) -> None:
    cluster.waits(pod, "ErrImagePull", SLOW)
    cluster.waits(pod, "ImagePullBackOff", 'Back-off pulling image "img"')


def no_config(cluster: SimulatedCluster, pod: str) -> None:
    cluster.waits(pod, "CreateContainerConfigError", 'secret "keys" not found')


def no_volume(cluster: SimulatedCluster, pod: str) -> None:
    cluster.waits(pod, "ContainerCreating")
    cluster.warn(pod, "Scheduled", "too old to matter")
    cluster.warn(pod, "FailedMount", 'MountVolume.SetUp failed: configmap "conf" not found')


def init_runs(cluster: SimulatedCluster, pod: str) -> None:
    init(cluster, pod, {"running": {"startedAt": cluster.api.store.stamp()}})


def no_pull_secret(cluster: SimulatedCluster, pod: str) -> None:
    init_runs(cluster, pod)
    cluster.warn(pod, "FailedToRetrieveImagePullSecret", "some secrets (hubsecret) are not there")


def init_crashes(cluster: SimulatedCluster, pod: str) -> None:
    init(cluster, pod, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})


def init(cluster: SimulatedCluster, pod: str, state: dict[str, Any]) -> None:
    statuses = [{"name": "init-pytorch", "state": state}]
    cluster.api.store.patch(cluster.pods, pod, {"status": {"initContainerStatuses": statuses}})


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        pytest.param(
            scheduler,
            "Unschedulable: 0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 cordoned",
            id="unschedulable",
        ),
        pytest.param(
            no_claim, 'Unschedulable: persistentvolumeclaim "data" not found', id="missing PVC"
        ),
        pytest.param(slow_registry, f"ErrImagePull: {SLOW}", id="image pull"),
        pytest.param(
            no_config, 'CreateContainerConfigError: secret "keys" not found', id="missing Secret"
        ),
        pytest.param(
            no_volume,
            'FailedMount: MountVolume.SetUp failed: configmap "conf" not found',
            id="missing ConfigMap",
        ),
        pytest.param(init_runs, "init container init-pytorch is running", id="init waits"),
        pytest.param(
            no_pull_secret, "init container init-pytorch is running", id="pull secret not needed"
        ),
        pytest.param(
            init_crashes,
            "init container init-pytorch: CrashLoopBackOff: back-off 10s",
            id="init crashes",
        ),
    ],
)
def test_waiting_pod_is_explained_once(
    happens: Callable[[SimulatedCluster, str], None], told: str
) -> None:
    """The words of whoever knows, one time, however long it lasts."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        pods = [cluster.pod(job, "master", 0), *(cluster.pod(job, "worker", i) for i in (0, 1))]
        for pod in pods[1:]:
            cluster.runs(pod)
        happens(cluster, pods[0])
        await asyncio.sleep(60)
        happens(cluster, pods[0])
        await asyncio.sleep(60)
        cluster.runs(pods[0])
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=10)

    assert result.code == ExitCode.SUCCEEDED
    assert [line for line in result.messages if "waiting" in line] == [
        f"waiting for 1 of 3 pods: 1 pending: {told}"
    ]


def test_change_of_the_reason_is_told() -> None:
    """First the scheduler, then the registry."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        pod = cluster.pod(job, "master", 0)
        scheduler(cluster, pod)
        await asyncio.sleep(20)
        slow_registry(cluster, pod)
        await asyncio.sleep(20)
        cluster.runs(pod)
        await succeed(cluster, job, [pod])

    result = run_scenario(history, "--num_worker", "1")

    told = [line.partition("pending: ")[2][:12] for line in result.messages if "waiting" in line]
    assert told == ["Unschedulabl", "ErrImagePull"]


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull"])
def test_image_that_can_never_be_pulled_fails_at_once(reason: str) -> None:
    """Waiting would not change it: exit 1, and nothing is left."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        cluster.waits(cluster.pod(job, "master", 0), reason, "couldn't parse image name")

    result = run_scenario(history)

    assert result.code == ExitCode.FAILED
    assert (result.jobs, result.pods) == ([], [])
    assert (
        f"PyTorchJob {JOB} cannot start: pod {MASTER} can never start: "
        f"{reason}: couldn't parse image name"
    ) in result.messages
    assert result.ended < 10


def test_image_that_the_registry_does_not_have_fails_after_five_minutes() -> None:
    """Also when the kubelet says no more than that it backs off, in between."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        pod = cluster.pod(job, "master", 0)
        for _ in range(8):
            cluster.waits(pod, "ErrImagePull", NOT_FOUND)
            await asyncio.sleep(10)
            cluster.waits(pod, "ImagePullBackOff", 'Back-off pulling image "img"')
            await asyncio.sleep(50)

    result = run_scenario(history, sweep=10)

    assert result.code == ExitCode.FAILED
    assert result.count(f"can never start: ErrImagePull: {NOT_FOUND}") == 1
    assert 300 <= result.ended < 320


def test_image_that_arrives_late_is_waited_for() -> None:
    """A registry that said no and then yes costs nothing."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        pod = cluster.pod(job, "master", 0)
        cluster.waits(pod, "ErrImagePull", NOT_FOUND)
        await asyncio.sleep(290)
        cluster.runs(pod)
        await asyncio.sleep(60)
        await succeed(cluster, job, [pod])

    assert run_scenario(history, "--num_worker", "1", sweep=10).code == ExitCode.SUCCEEDED


def test_quota_is_explained_by_the_jobs_event() -> None:
    """The operator's pod is refused: there is no pod to ask, only the job's event."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        cluster.warn(job, "FailedCreatePod", f'pods "{MASTER}" is forbidden: exceeded quota: gpus')
        await cluster.until_message("waiting for 3 of 3 pods: 3 not there, FailedCreatePod: pods")
        await succeed(cluster, *(await three_pods(cluster)))

    assert run_scenario(history).code == ExitCode.SUCCEEDED


def test_spec_that_the_operator_refuses_fails_at_once() -> None:
    """Operators tell that in an event, and then never again."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.warn(job, "PyTorchJobFailedValidation", "spec is not valid: Master: 2 replicas")

    result = run_scenario(history)

    assert (result.code, result.jobs) == (ExitCode.FAILED, [])
    assert (
        f"PyTorchJob {JOB} cannot start: the operator refuses it: "
        "PyTorchJobFailedValidation: spec is not valid: Master: 2 replicas"
    ) in result.messages
    assert result.ended < 10


def test_admission_webhook_that_refuses_ends_with_3_and_its_words() -> None:
    """Nothing was created, so there is nothing to wait for."""
    words = 'admission webhook "validatejob.volcano.sh" denied the request: queue q is Closed'

    async def history(cluster: SimulatedCluster) -> None:
        pass

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="create", path="jobs", status=400, message=words)

    result = run_scenario(history, framework="mindspore", before=before)

    assert result.code == ExitCode.REJECTED
    assert words in str(result.error)
    assert result.jobs == []


def test_webhook_that_is_away_is_asked_again() -> None:
    """A 500 from a webhook that restarts is no refusal."""

    async def history(cluster: SimulatedCluster) -> None:
        await succeed(cluster, *(await three_pods(cluster)))

    def before(cluster: SimulatedCluster) -> None:
        words = 'failed calling webhook "validator.pytorchjob": connection refused'
        cluster.api.fail(verb="create", path="pytorchjobs", status=500, message=words, seconds=90)

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count('failed calling webhook "validator.pytorchjob"') == 1


def gang(
    cluster: SimulatedCluster, job: str, phase: str, *, queue: str | None, **status: Any
) -> None:
    """The PodGroup of a Volcano job, and its queue in that state (None: there is no such queue)."""
    groups = Collection("scheduling.volcano.sh", "podgroups", NAMESPACE)
    uid = cluster.api.store.get(cluster.jobs, job)["metadata"]["uid"]
    if queue is not None:
        queues = Collection("scheduling.volcano.sh", "queues", "")
        thing = {"metadata": {"name": "default"}, "status": {"state": queue}}
        cluster.api.store.create(queues, thing)
    cluster.api.store.create(
        groups,
        {
            "metadata": {"name": f"{job}-{uid}"},
            "spec": {"minMember": 3, "queue": "default"},
            "status": {"phase": phase, **status},
        },
    )


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        pytest.param(
            "Open",
            "queue default has not admitted the gang of 3: NotEnoughResources: 3/0 tasks in gang"
            " unschedulable: pod group is not ready, 3 minAvailable",
            id="not admitted",
        ),
        pytest.param("Closed", "queue default is Closed", id="queue closed"),
        pytest.param(None, "queue default does not exist", id="queue absent"),
    ],
)
def test_gang_without_pods_is_explained_by_its_podgroup(queue: str | None, told: str) -> None:
    """Volcano makes no pod before the queue has room; only the PodGroup tells."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.phase(job, "Pending")
        condition = {  # as Volcano 1.10 writes it before it has made a pod
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "message": "3/0 tasks in gang unschedulable: pod group is not ready, 3 minAvailable",
        }
        gang(cluster, job, "Pending", queue=queue, conditions=[condition])
        await cluster.until_message(f"waiting for 3 of 3 pods: 3 not there, {told}")
        cluster.phase(job, "Completed")

    assert run_scenario(history, framework="mindspore").code == ExitCode.SUCCEEDED


def test_gang_that_fits_nowhere_is_explained_by_the_scheduler() -> None:
    """The words are in the PodGroup's condition, whatever the queue is like."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.phase(job, "Pending")
        words = "3/3 tasks in gang unschedulable: 2 Insufficient nvidia.com/gpu"
        condition = {
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "message": words,
        }
        gang(cluster, job, "Inqueue", queue="Open", conditions=[condition])
        await cluster.until_message(f"3 not there, NotEnoughResources: {words}")
        cluster.phase(job, "Completed")

    assert run_scenario(history, framework="mindspore").code == ExitCode.SUCCEEDED


def test_reasons_that_may_not_be_read_are_done_without() -> None:
    """Events, PodGroups and queues are forbidden: silence, except with --verbose."""
    forbidden = {("list", "events"), ("list", "podgroups.scheduling.volcano.sh")}

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.denied = forbidden
        job = await cluster.job()
        await cluster.until_message("waiting for 3 of 3 pods: 3 not there")
        await succeed(cluster, job, (await three_pods(cluster))[1])

    quiet, verbose = run_scenario(history), run_scenario(history, "--verbose")

    assert (quiet.code, verbose.code) == (ExitCode.SUCCEEDED, ExitCode.SUCCEEDED)
    assert quiet.count("reasons for waiting may be missing") == 0
    assert verbose.count("reasons for waiting may be missing: cannot list events") == 1


def test_pod_that_the_kubelet_refused_has_not_started() -> None:
    """A Failed pod that never ran is waited for, by its reason, until its limit."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created", "Running")
        for role, index in (("master", 0), ("worker", 0)):
            cluster.runs(cluster.pod(job, role, index))
        pod = cluster.pod(job, "worker", 1)
        refused = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no GPU"}
        cluster.api.store.patch(cluster.pods, pod, {"status": refused})

    result = run_scenario(history, "--start_timeout", "5m", sweep=60)

    assert result.code == ExitCode.TIMEOUT
    assert result.count("pods: 1 failed: UnexpectedAdmissionError: no GPU") == 2


def test_many_pods_are_not_as_many_lines() -> None:
    """Pods that change together are told together."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        pods = [cluster.pod(job, "master", 0), *(cluster.pod(job, "worker", i) for i in range(99))]
        for pod in pods:
            cluster.waits(pod, "ContainerCreating")
        await asyncio.sleep(20)
        for pod in pods:
            cluster.runs(pod)
        cluster.condition(job, "Created", "Running")
        await cluster.until_message("100 of 100 running")
        for pod in pods:
            cluster.ends(pod)
        cluster.condition(job, "Succeeded")

    result = run_scenario(history, "--num_worker", "100")

    assert result.code == ExitCode.SUCCEEDED
    assert len(result.messages) < 20
    assert result.messages[1:4] == [
        f"PyTorchJob {JOB} is queued",
        "waiting for 100 of 100 pods: 100 pending",
        f"PyTorchJob {JOB} is running",
    ]
