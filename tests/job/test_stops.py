"""What becomes of the job when dlf is stopped."""

import asyncio
from typing import Any

from job.histories import JOB, succeed, three_pods
from job.play import play
from job.stage import Stage

from dlf.errors import ExitCode

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "launcher"}
ELSEWHERE = {"K8S_POD_NAME": "launcher"}


def launcher(stage: Stage) -> None:
    """dlf's own pod."""
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "launcher"},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }
    stage.api.store.create(stage.pods, pod)


def disrupted(stage: Stage) -> None:
    """The cluster is about to take dlf's own pod away."""
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    stage.api.store.patch(stage.pods, "launcher", {"status": {"conditions": [mark]}})


def owners(stage: Stage) -> list[str]:
    """The uids of the job's owners."""
    job = stage.api.store.get(stage.jobs, JOB)
    return [owner["uid"] for owner in job["metadata"].get("ownerReferences", [])]


async def stopped(stage: Stage) -> None:
    """SIGTERM comes while the job runs."""
    await three_pods(stage)
    stage.signal()


def test_signal_deletes_the_job_and_waits_for_its_pods() -> None:
    """Nothing is left, and dlf does not end before that."""

    async def history(stage: Stage) -> None:
        stage.api.store.hold_deletions = True
        await stopped(stage)
        await stage.heard("deleting")
        await asyncio.sleep(12)
        stage.api.store.remove(stage.jobs, JOB)

    played = play(history)

    assert played.code == ExitCode.SIGTERM
    assert (played.jobs, played.pods) == ([], [])
    assert played.said[-1] == f"deleting PyTorchJob {JOB}"
    body = next(r.body for r in played.api.requests if r.method == "DELETE")
    assert b'"propagationPolicy":"Foreground"' in body
    assert b'"preconditions":{"uid":' in body
    assert 12 <= played.ended < 15


def test_signal_does_not_wait_for_ever() -> None:
    """kubelet kills after 30 s: dlf says before that what is left."""

    async def history(stage: Stage) -> None:
        stage.api.store.hold_deletions = True
        await stopped(stage)

    played = play(history)

    assert played.code == ExitCode.SIGTERM
    assert played.said[-1] == (
        f"PyTorchJob {JOB} is not gone after 15 s; its pods are still ending"
    )
    assert played.ended < 25


def test_signal_while_the_api_server_is_away_says_that_the_job_may_run() -> None:
    """A deletion that did not arrive is not claimed."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)
        await stage.api.server.stop()
        stage.signal()

    played = play(history)

    assert played.code == ExitCode.SIGTERM
    assert played.said[-1] == f"PyTorchJob {JOB} is not gone after 15 s; it may still run"
    assert played.ended < 30


def test_signal_keeps_the_job_when_the_launcher_is_evicted() -> None:
    """The retry attaches; the old pod must not take the job with it when it goes."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)
        assert len(owners(stage)) == 1
        disrupted(stage)
        stage.signal()

    played = play(history, env=IN_CLUSTER, before=launcher)

    assert played.code == ExitCode.SIGTERM
    assert played.jobs == [JOB]
    assert owners(played.stage) == []
    assert played.said[-1] == (
        f"PyTorchJob {JOB} goes on; the cluster moves this launcher: "
        "EvictionByEvictionAPI: Eviction API: evicting"
    )


def test_signal_deletes_on_demand_even_when_the_launcher_is_evicted() -> None:
    """`--on_exit delete` does not look at the launcher."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)
        disrupted(stage)
        stage.signal()

    played = play(history, "--on_exit", "delete", env=IN_CLUSTER, before=launcher)

    assert (played.code, played.jobs) == (ExitCode.SIGTERM, [])


def test_signal_keeps_the_job_on_demand() -> None:
    """`--on_exit keep`."""
    played = play(stopped, "--on_exit", "keep")

    assert (played.code, played.jobs) == (ExitCode.SIGTERM, [JOB])
    assert played.asked("DELETE", "pytorchjobs") == []


def test_signal_finds_the_job_whose_create_was_not_answered() -> None:
    """The job exists although dlf never read so."""

    async def history(stage: Stage) -> None:
        await stage.job()
        stage.signal()

    def before(stage: Stage) -> None:
        stage.api.fail(verb="create", path="pytorchjobs", stall=True, done_first=True)

    played = play(history, before=before)

    assert (played.code, played.jobs) == (ExitCode.SIGTERM, [])


def test_signal_does_not_touch_a_job_that_only_has_the_name() -> None:
    """What was not created by this very submission stays."""

    async def history(stage: Stage) -> None:
        await asyncio.sleep(5)
        stage.earlier(JOB, task="8")
        stage.signal()

    def before(stage: Stage) -> None:
        stage.api.fail(verb="create", path="pytorchjobs", stall=True)

    played = play(history, before=before)

    assert (played.code, played.jobs) == (ExitCode.SIGTERM, [JOB])


def test_job_is_owned_by_the_launchers_pod() -> None:
    """Deleting the pipeline's pod deletes the job."""

    async def history(stage: Stage) -> None:
        job, _ = await three_pods(stage)
        assert owners(stage) == [stage.api.store.get(stage.pods, "launcher")["metadata"]["uid"]]
        stage.api.store.remove(stage.pods, "launcher")
        assert stage.api.store.find(stage.jobs, job) is None

    played = play(history, env=ELSEWHERE, before=launcher)

    assert played.code == ExitCode.DELETED


def test_job_has_no_owner_on_demand() -> None:
    """`--no_owner`: nobody even asks for the pod."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        assert owners(stage) == []
        await succeed(stage, job, pods)

    played = play(history, "--no_owner", env=IN_CLUSTER, before=launcher)

    assert played.code == ExitCode.SUCCEEDED
    assert played.asked("GET", "pods/launcher") == []


def test_job_has_no_owner_where_the_pod_may_not_be_read() -> None:
    """A missing permission costs the owner, nothing else."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        assert owners(stage) == []
        await succeed(stage, job, pods)

    def before(stage: Stage) -> None:
        launcher(stage)
        stage.api.denied = {("get", "pods")}

    played = play(history, env=IN_CLUSTER, before=before)

    assert played.code == ExitCode.SUCCEEDED


def test_next_try_becomes_the_owner_of_the_job_that_it_attaches_to() -> None:
    """The pod of the try before may be deleted at any time."""

    async def history(stage: Stage) -> None:
        await stage.heard("attached")
        await asyncio.sleep(1)
        stage.condition("earlier", "Succeeded")

    def before(stage: Stage) -> None:
        launcher(stage)
        stage.earlier("earlier")
        old = [{"apiVersion": "v1", "kind": "Pod", "name": "old", "uid": "old"}]
        stage.api.store.patch(stage.jobs, "earlier", {"metadata": {"ownerReferences": old}})

    played = play(history, env=IN_CLUSTER, before=before)

    assert played.code == ExitCode.SUCCEEDED
    job = played.api.store.get(played.stage.jobs, "earlier")
    assert [owner["name"] for owner in job["metadata"]["ownerReferences"]] == ["launcher"]
