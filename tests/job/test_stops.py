"""What becomes of the job when dlf is stopped."""

import asyncio
from typing import Any

from job.pytorch_histories import JOB, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "launcher"}
ELSEWHERE = {"K8S_POD_NAME": "launcher"}


def launcher(cluster: SimulatedCluster) -> None:
    """dlf's own pod."""
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "launcher"},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"phase": "Running"},
    }
    cluster.api.store.create(cluster.pods, pod)


def disrupted(cluster: SimulatedCluster) -> None:
    """The cluster is about to take dlf's own pod away."""
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    cluster.api.store.patch(cluster.pods, "launcher", {"status": {"conditions": [mark]}})


def owners(cluster: SimulatedCluster) -> list[str]:
    """The uids of the job's owners."""
    job = cluster.api.store.get(cluster.jobs, JOB)
    return [owner["uid"] for owner in job["metadata"].get("ownerReferences", [])]


async def stopped(cluster: SimulatedCluster) -> None:
    """SIGTERM comes while the job runs."""
    await three_pods(cluster)
    cluster.signal()


def test_signal_deletes_the_job_and_waits_for_its_pods() -> None:
    """Nothing is left, and dlf does not end before that."""

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.store.hold_deletions = True
        await stopped(cluster)
        await cluster.until_message("deleting")
        await asyncio.sleep(12)
        cluster.api.store.remove(cluster.jobs, JOB)

    result = run_scenario(history)

    assert result.code == ExitCode.SIGTERM
    assert (result.jobs, result.pods) == ([], [])
    assert result.messages[-1] == f"deleting PyTorchJob {JOB}"
    body = next(r.body for r in result.api.requests if r.method == "DELETE")
    assert b'"propagationPolicy":"Foreground"' in body
    assert b'"preconditions":{"uid":' in body
    assert 12 <= result.ended < 15


def test_signal_does_not_wait_for_ever() -> None:
    """kubelet kills after 30 s: dlf says before that what is left."""

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.store.hold_deletions = True
        await stopped(cluster)

    result = run_scenario(history)

    assert result.code == ExitCode.SIGTERM
    assert result.messages[-1] == (
        f"PyTorchJob {JOB} is not gone after 15s; its pods are still ending"
    )
    assert result.ended < 25


def test_signal_while_the_api_server_is_away_says_that_the_job_may_run() -> None:
    """A deletion that did not arrive is not claimed."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)
        await cluster.api.server.stop()
        cluster.signal()

    result = run_scenario(history)

    assert result.code == ExitCode.SIGTERM
    assert result.messages[-1] == f"PyTorchJob {JOB} is not gone after 15s; it may still run"
    assert result.ended < 30


def test_signal_keeps_the_job_when_the_launcher_is_evicted() -> None:
    """The retry attaches; the old pod must not take the job with it when it goes."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)
        assert len(owners(cluster)) == 1
        disrupted(cluster)
        cluster.signal()

    result = run_scenario(history, env=IN_CLUSTER, before=launcher)

    assert result.code == ExitCode.SIGTERM
    assert result.jobs == [JOB]
    assert owners(result.cluster) == []
    assert result.messages[-1] == (
        f"PyTorchJob {JOB} goes on; the cluster moves this launcher: "
        "EvictionByEvictionAPI: Eviction API: evicting"
    )


def test_signal_deletes_on_demand_even_when_the_launcher_is_evicted() -> None:
    """`--on_exit delete` does not look at the launcher."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)
        disrupted(cluster)
        cluster.signal()

    result = run_scenario(history, "--on_exit", "delete", env=IN_CLUSTER, before=launcher)

    assert (result.code, result.jobs) == (ExitCode.SIGTERM, [])


def test_signal_keeps_the_job_on_demand() -> None:
    """`--on_exit keep`."""
    result = run_scenario(stopped, "--on_exit", "keep")

    assert (result.code, result.jobs) == (ExitCode.SIGTERM, [JOB])
    assert result.asked("DELETE", "pytorchjobs") == []


def test_signal_finds_the_job_whose_create_was_not_answered() -> None:
    """The job exists although dlf never read so."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.job()
        cluster.signal()

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="create", path="pytorchjobs", stall=True, done_first=True)

    result = run_scenario(history, before=before)

    assert (result.code, result.jobs) == (ExitCode.SIGTERM, [])


def test_signal_does_not_touch_a_job_that_only_has_the_name() -> None:
    """What was not created by this very submission stays."""

    async def history(cluster: SimulatedCluster) -> None:
        await asyncio.sleep(5)
        cluster.earlier(JOB, task="8")
        cluster.signal()

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="create", path="pytorchjobs", stall=True)

    result = run_scenario(history, before=before)

    assert (result.code, result.jobs) == (ExitCode.SIGTERM, [JOB])


def test_job_is_owned_by_the_launchers_pod() -> None:
    """Deleting the pipeline's pod deletes the job."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        assert owners(cluster) == [
            cluster.api.store.get(cluster.pods, "launcher")["metadata"]["uid"]
        ]
        cluster.api.store.remove(cluster.pods, "launcher")
        assert cluster.api.store.find(cluster.jobs, job) is None

    result = run_scenario(history, env=ELSEWHERE, before=launcher)

    assert result.code == ExitCode.DELETED


def test_job_has_no_owner_on_demand() -> None:
    """`--no_owner`: nobody even asks for the pod."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        assert owners(cluster) == []
        await succeed(cluster, job, pods)

    result = run_scenario(history, "--no_owner", env=IN_CLUSTER, before=launcher)

    assert result.code == ExitCode.SUCCEEDED
    assert result.asked("GET", "pods/launcher") == []


def test_job_has_no_owner_where_the_pod_may_not_be_read() -> None:
    """A missing permission costs the owner, nothing else."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        assert owners(cluster) == []
        await succeed(cluster, job, pods)

    def before(cluster: SimulatedCluster) -> None:
        launcher(cluster)
        cluster.api.denied = {("get", "pods")}

    result = run_scenario(history, env=IN_CLUSTER, before=before)

    assert result.code == ExitCode.SUCCEEDED


def test_next_try_becomes_the_owner_of_the_job_that_it_attaches_to() -> None:
    """The pod of the try before may be deleted at any time."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("attached")
        await asyncio.sleep(1)
        cluster.condition("earlier", "Succeeded")

    def before(cluster: SimulatedCluster) -> None:
        launcher(cluster)
        cluster.earlier("earlier")
        old = [{"apiVersion": "v1", "kind": "Pod", "name": "old", "uid": "old"}]
        cluster.api.store.patch(cluster.jobs, "earlier", {"metadata": {"ownerReferences": old}})

    result = run_scenario(history, env=IN_CLUSTER, before=before)

    assert result.code == ExitCode.SUCCEEDED
    job = result.api.store.get(result.cluster.jobs, "earlier")
    assert [owner["name"] for owner in job["metadata"]["ownerReferences"]] == ["launcher"]
