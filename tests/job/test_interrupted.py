"""A pod that was being deleted, preempted or evicted when it ended has not succeeded."""

import asyncio

import pytest
from job.pytorch_histories import FIRST, JOB, MASTER, SECOND, fail, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode


async def volcano_workers(cluster: SimulatedCluster, count: int = 2) -> tuple[str, list[str]]:
    """A Volcano Job runs with so many workers."""
    job = await cluster.job()
    cluster.phase(job, "Pending")
    pods = [cluster.pod(job, "worker", index, "volcanojob") for index in range(count)]
    for pod in pods:
        cluster.runs(pod, "training")
    cluster.phase(job, "Running")
    await cluster.until_message(f"{count} of {count} running")
    return job, pods


def test_leader_that_a_restart_stops_has_not_succeeded() -> None:
    """Volcano restarts the job; worker 0 saves a checkpoint on SIGTERM and exits 0."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await volcano_workers(cluster)
        cluster.ends(pods[1], 1)
        cluster.phase(job, "Restarting")
        cluster.deletes(pods[0])
        await asyncio.sleep(2)
        cluster.ends(pods[0], 0, "checkpoint saved")
        await asyncio.sleep(2)
        for pod in pods:
            cluster.api.store.finish_deletion(cluster.pods, pod)
        await asyncio.sleep(30)
        assert cluster.task
        assert not cluster.task.done()
        cluster.phase(job, "Pending")
        again = [cluster.pod(job, "worker", index, "volcanojob") for index in range(2)]
        for pod in again:
            cluster.runs(pod, "training again")
        cluster.phase(job, "Running")
        await asyncio.sleep(10)
        cluster.ends(again[0], 0, "done")

    result = run_scenario(history, "--num_worker=2", "--max_retry=1", framework="deepspeed")

    assert result.code == ExitCode.SUCCEEDED
    assert "deepspeed-demo-ab12-worker-0 done" in result.out


def test_job_that_someone_deletes_has_not_succeeded_when_its_pods_exit_0() -> None:
    """All of them catch SIGTERM and end cleanly, after the job object is gone or before."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.deletes(pod)
        await asyncio.sleep(2)
        for pod in pods:
            cluster.ends(pod, 0, "checkpoint saved")
        await asyncio.sleep(1)
        for pod in pods:
            cluster.api.store.finish_deletion(cluster.pods, pod)
        cluster.api.store.remove(cluster.jobs, job)

    result = run_scenario(history)

    assert result.code == ExitCode.DELETED
    assert f"PyTorchJob {JOB} was deleted by someone else" in result.messages


def test_job_whose_pods_succeeded_before_its_deletion_has_succeeded() -> None:
    """A time to live: the deletion of the pods is later than their end."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.ends(pod)
        await asyncio.sleep(5)
        for pod in pods:
            cluster.deletes(pod)
        cluster.api.store.remove(cluster.jobs, job)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("all its pods had succeeded") == 1


@pytest.mark.parametrize("strict", [False, True])
def test_success_of_a_preempted_rank_is_the_operators_word(strict: bool) -> None:
    """Exit 0 with a note; `--strict` makes it 1."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.disrupts(pods[0])
        await asyncio.sleep(3)
        await succeed(cluster, job, pods)

    result = run_scenario(history, *(["--strict"] if strict else []))

    assert result.code == (ExitCode.FAILED if strict else ExitCode.SUCCEEDED)
    assert result.count(f"although the job succeeded, pod {MASTER} (master, rank 0)") == 1
    assert result.count("PreemptionByScheduler, exit code 0, a pod of higher priority") >= 1


def test_preempted_rank_that_exits_0_is_the_first_cause() -> None:
    """Its peers fail because it is gone."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.disrupts(pods[2])
        await asyncio.sleep(2)
        cluster.ends(pods[2], 0, "checkpoint saved")
        for pod in pods[:2]:
            cluster.ends(pod, 1, "RuntimeError: connection closed by peer")
        await fail(cluster, job)

    result = run_scenario(history)

    assert result.outcome
    assert [each.pod for each in result.outcome.failures] == [SECOND, MASTER, FIRST]
