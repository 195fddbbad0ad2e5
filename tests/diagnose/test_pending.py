"""Why a job does not start: one sentence on stderr, and again only when it changes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fake_api.store import Collection
from job.histories import JOB, MASTER, succeed, three_pods
from job.play import play
from job.stage import NAMESPACE, Stage

from dlf.errors import ExitCode

NOT_FOUND = 'failed to resolve reference "img": img: not found'
SLOW = "dial tcp 10.0.0.1:443: i/o timeout"


def scheduler(stage: Stage, pod: str) -> None:
    stage.unschedulable(pod, "0/5 nodes are available: 3 Insufficient nvidia.com/gpu, 2 cordoned")


def no_claim(stage: Stage, pod: str) -> None:
    stage.unschedulable(pod, 'persistentvolumeclaim "data" not found')


def slow_registry(stage: Stage, pod: str) -> None:
    stage.waits(pod, "ErrImagePull", SLOW)
    stage.waits(pod, "ImagePullBackOff", 'Back-off pulling image "img"')


def no_config(stage: Stage, pod: str) -> None:
    stage.waits(pod, "CreateContainerConfigError", 'secret "keys" not found')


def no_volume(stage: Stage, pod: str) -> None:
    stage.waits(pod, "ContainerCreating")
    stage.warn(pod, "Scheduled", "too old to matter")
    stage.warn(pod, "FailedMount", 'MountVolume.SetUp failed: configmap "conf" not found')


def init_runs(stage: Stage, pod: str) -> None:
    init(stage, pod, {"running": {"startedAt": stage.api.store.stamp()}})


def no_pull_secret(stage: Stage, pod: str) -> None:
    init_runs(stage, pod)
    stage.warn(pod, "FailedToRetrieveImagePullSecret", "some secrets (hubsecret) are not there")


def init_crashes(stage: Stage, pod: str) -> None:
    init(stage, pod, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}})


def init(stage: Stage, pod: str, state: dict[str, Any]) -> None:
    statuses = [{"name": "init-pytorch", "state": state}]
    stage.api.store.patch(stage.pods, pod, {"status": {"initContainerStatuses": statuses}})


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
def test_waiting_pod_is_explained_once(happens: Callable[[Stage, str], None], told: str) -> None:
    """The words of whoever knows, one time, however long it lasts."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        pods = [stage.pod(job, "master", 0), *(stage.pod(job, "worker", i) for i in (0, 1))]
        for pod in pods[1:]:
            stage.runs(pod)
        happens(stage, pods[0])
        await asyncio.sleep(60)
        happens(stage, pods[0])
        await asyncio.sleep(60)
        stage.runs(pods[0])
        await succeed(stage, job, pods)

    played = play(history, sweep=10)

    assert played.code == ExitCode.SUCCEEDED
    assert [line for line in played.said if "waiting" in line] == [
        f"waiting for 1 of 3 pods: 1 pending: {told}"
    ]


def test_change_of_the_reason_is_told() -> None:
    """First the scheduler, then the registry."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        pod = stage.pod(job, "master", 0)
        scheduler(stage, pod)
        await asyncio.sleep(20)
        slow_registry(stage, pod)
        await asyncio.sleep(20)
        stage.runs(pod)
        await succeed(stage, job, [pod])

    played = play(history, "--num_worker", "1")

    told = [line.partition("pending: ")[2][:12] for line in played.said if "waiting" in line]
    assert told == ["Unschedulabl", "ErrImagePull"]


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull"])
def test_image_that_can_never_be_pulled_fails_at_once(reason: str) -> None:
    """Waiting would not change it: exit 1, and nothing is left."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        stage.waits(stage.pod(job, "master", 0), reason, "couldn't parse image name")

    played = play(history)

    assert played.code == ExitCode.FAILED
    assert (played.jobs, played.pods) == ([], [])
    assert (
        f"PyTorchJob {JOB} cannot start: pod {MASTER} can never start: "
        f"{reason}: couldn't parse image name"
    ) in played.said
    assert played.ended < 10


def test_image_that_the_registry_does_not_have_fails_after_five_minutes() -> None:
    """Also when the kubelet says no more than that it backs off, in between."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        pod = stage.pod(job, "master", 0)
        for _ in range(8):
            stage.waits(pod, "ErrImagePull", NOT_FOUND)
            await asyncio.sleep(10)
            stage.waits(pod, "ImagePullBackOff", 'Back-off pulling image "img"')
            await asyncio.sleep(50)

    played = play(history, sweep=10)

    assert played.code == ExitCode.FAILED
    assert played.count(f"can never start: ErrImagePull: {NOT_FOUND}") == 1
    assert 300 <= played.ended < 320


def test_image_that_arrives_late_is_waited_for() -> None:
    """A registry that said no and then yes costs nothing."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        pod = stage.pod(job, "master", 0)
        stage.waits(pod, "ErrImagePull", NOT_FOUND)
        await asyncio.sleep(290)
        stage.runs(pod)
        await asyncio.sleep(60)
        await succeed(stage, job, [pod])

    assert play(history, "--num_worker", "1", sweep=10).code == ExitCode.SUCCEEDED


def test_quota_is_explained_by_the_jobs_event() -> None:
    """The operator's pod is refused: there is no pod to ask, only the job's event."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        stage.warn(job, "FailedCreatePod", f'pods "{MASTER}" is forbidden: exceeded quota: gpus')
        await stage.heard("waiting for 3 of 3 pods: 3 not there, FailedCreatePod: pods")
        await succeed(stage, *(await three_pods(stage)))

    assert play(history).code == ExitCode.SUCCEEDED


def test_spec_that_the_operator_refuses_fails_at_once() -> None:
    """Operators tell that in an event, and then never again."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.warn(job, "PyTorchJobFailedValidation", "spec is not valid: Master: 2 replicas")

    played = play(history)

    assert (played.code, played.jobs) == (ExitCode.FAILED, [])
    assert (
        f"PyTorchJob {JOB} cannot start: the operator refuses it: "
        "PyTorchJobFailedValidation: spec is not valid: Master: 2 replicas"
    ) in played.said
    assert played.ended < 10


def test_admission_webhook_that_refuses_ends_with_3_and_its_words() -> None:
    """Nothing was created, so there is nothing to wait for."""
    words = 'admission webhook "validatejob.volcano.sh" denied the request: queue q is Closed'

    async def history(stage: Stage) -> None:
        pass

    def before(stage: Stage) -> None:
        stage.api.fail(verb="create", path="jobs", status=400, message=words)

    played = play(history, framework="mindspore", before=before)

    assert played.code == ExitCode.REJECTED
    assert words in str(played.error)
    assert played.jobs == []


def test_webhook_that_is_away_is_asked_again() -> None:
    """A 500 from a webhook that restarts is no refusal."""

    async def history(stage: Stage) -> None:
        await succeed(stage, *(await three_pods(stage)))

    def before(stage: Stage) -> None:
        words = 'failed calling webhook "validator.pytorchjob": connection refused'
        stage.api.fail(verb="create", path="pytorchjobs", status=500, message=words, seconds=90)

    played = play(history, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count('failed calling webhook "validator.pytorchjob"') == 1


def gang(stage: Stage, job: str, phase: str, *, queue: str | None, **status: Any) -> None:
    """The PodGroup of a Volcano job, and its queue in that state (None: there is no such queue)."""
    groups = Collection("scheduling.volcano.sh", "podgroups", NAMESPACE)
    uid = stage.api.store.get(stage.jobs, job)["metadata"]["uid"]
    if queue is not None:
        queues = Collection("scheduling.volcano.sh", "queues", "")
        thing = {"metadata": {"name": "default"}, "status": {"state": queue}}
        stage.api.store.create(queues, thing)
    stage.api.store.create(
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

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.phase(job, "Pending")
        condition = {  # as Volcano 1.10 writes it before it has made a pod
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "message": "3/0 tasks in gang unschedulable: pod group is not ready, 3 minAvailable",
        }
        gang(stage, job, "Pending", queue=queue, conditions=[condition])
        await stage.heard(f"waiting for 3 of 3 pods: 3 not there, {told}")
        stage.phase(job, "Completed")

    assert play(history, framework="mindspore").code == ExitCode.SUCCEEDED


def test_gang_that_fits_nowhere_is_explained_by_the_scheduler() -> None:
    """The words are in the PodGroup's condition, whatever the queue is like."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.phase(job, "Pending")
        words = "3/3 tasks in gang unschedulable: 2 Insufficient nvidia.com/gpu"
        condition = {
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "message": words,
        }
        gang(stage, job, "Inqueue", queue="Open", conditions=[condition])
        await stage.heard(f"3 not there, NotEnoughResources: {words}")
        stage.phase(job, "Completed")

    assert play(history, framework="mindspore").code == ExitCode.SUCCEEDED


def test_reasons_that_may_not_be_read_are_done_without() -> None:
    """Events, PodGroups and queues are forbidden: silence, except with --verbose."""
    forbidden = {("list", "events"), ("list", "podgroups.scheduling.volcano.sh")}

    async def history(stage: Stage) -> None:
        stage.api.denied = forbidden
        job = await stage.job()
        await stage.heard("waiting for 3 of 3 pods: 3 not there")
        await succeed(stage, job, (await three_pods(stage))[1])

    quiet, verbose = play(history), play(history, "--verbose")

    assert (quiet.code, verbose.code) == (ExitCode.SUCCEEDED, ExitCode.SUCCEEDED)
    assert quiet.count("reasons for waiting may be missing") == 0
    assert verbose.count("reasons for waiting may be missing: cannot list events") == 1


def test_pod_that_the_kubelet_refused_has_not_started() -> None:
    """A Failed pod that never ran is waited for, by its reason, until its limit."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created", "Running")
        for role, index in (("master", 0), ("worker", 0)):
            stage.runs(stage.pod(job, role, index))
        pod = stage.pod(job, "worker", 1)
        refused = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no GPU"}
        stage.api.store.patch(stage.pods, pod, {"status": refused})

    played = play(history, "--start_timeout", "5m", sweep=60)

    assert played.code == ExitCode.TIMEOUT
    assert played.count("pods: 1 failed: UnexpectedAdmissionError: no GPU") == 2


def test_many_pods_are_not_as_many_lines() -> None:
    """Pods that change together are told together."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        pods = [stage.pod(job, "master", 0), *(stage.pod(job, "worker", i) for i in range(99))]
        for pod in pods:
            stage.waits(pod, "ContainerCreating")
        await asyncio.sleep(20)
        for pod in pods:
            stage.runs(pod)
        stage.condition(job, "Created", "Running")
        await stage.heard("100 of 100 running")
        for pod in pods:
            stage.ends(pod)
        stage.condition(job, "Succeeded")

    played = play(history, "--num_worker", "100")

    assert played.code == ExitCode.SUCCEEDED
    assert len(played.said) < 20
    assert played.said[1:4] == [
        f"PyTorchJob {JOB} is queued",
        "waiting for 100 of 100 pods: 100 pending",
        f"PyTorchJob {JOB} is running",
    ]
