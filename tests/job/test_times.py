"""Time limits: dlf's own clock, not the operator's."""

import asyncio

from job.pytorch_histories import JOB, SECOND, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode


async def two_of_three(cluster: SimulatedCluster) -> str:
    """The third pod cannot be scheduled."""
    job = await cluster.job()
    cluster.condition(job, "Created")
    for role in ("master", "worker"):
        cluster.runs(cluster.pod(job, role, 0))
    cluster.unschedulable(cluster.pod(job, "worker", 1), "0/5 nodes: 5 Insufficient nvidia.com/gpu")
    cluster.condition(job, "Created", "Running")
    return job


def test_start_timeout_deletes_the_job_and_says_what_it_waited_for() -> None:
    """Exit 124, nothing left, and the scheduler's words."""

    async def history(cluster: SimulatedCluster) -> None:
        await two_of_three(cluster)

    result = run_scenario(history, "--start_timeout", "20m", sweep=60)

    assert result.code == ExitCode.TIMEOUT
    assert (result.jobs, result.pods) == ([], [])
    assert (
        f"PyTorchJob {JOB} did not start within 20m (--start_timeout): waiting for 1 of 3 pods: "
        "1 pending: Unschedulable: 0/5 nodes: 5 Insufficient nvidia.com/gpu"
    ) in result.messages
    assert 1200 <= result.ended < 1220


def test_start_timeout_is_an_hour_by_default() -> None:
    """A long image pull is no reason to end earlier."""

    async def history(cluster: SimulatedCluster) -> None:
        await two_of_three(cluster)

    result = run_scenario(history, sweep=60)

    assert result.code == ExitCode.TIMEOUT
    assert 3600 <= result.ended < 3620


def test_start_timeout_does_not_end_a_job_that_has_started() -> None:
    """Also when the operator restarts its pods at that very moment."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(595)
        cluster.api.store.remove(cluster.pods, SECOND)
        cluster.condition(job, "Created", "Restarting")
        await asyncio.sleep(20)
        cluster.runs(cluster.pod(job, "worker", 1))
        await succeed(cluster, job, pods)

    result = run_scenario(history, "--start_timeout", "10m", sweep=60)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("waiting for 1 of 3 pods: 1 not there") == 1


def test_start_timeout_counts_pods_that_started_and_ended() -> None:
    """A pod that is done before the last one begins has started, even when it was cleaned up."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created")
        quick = cluster.pod(job, "master", 0)
        cluster.runs(quick)
        cluster.ends(quick)
        await asyncio.sleep(2)
        cluster.api.store.remove(cluster.pods, quick)
        for index in range(2):
            cluster.runs(cluster.pod(job, "worker", index))
        await asyncio.sleep(1000)
        cluster.condition(job, "Created", "Succeeded")

    result = run_scenario(history, "--start_timeout", "10m", sweep=60)

    assert result.code == ExitCode.SUCCEEDED


def test_timeout_deletes_the_job() -> None:
    """`--timeout` is for the whole job."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)

    result = run_scenario(history, "--timeout", "2h", sweep=60)

    assert result.code == ExitCode.TIMEOUT
    assert (result.jobs, result.pods) == ([], [])
    assert (
        f"PyTorchJob {JOB} did not finish within 2h (--timeout): 3 of 3 running" in result.messages
    )
    assert 7200 <= result.ended < 7220


def test_timeout_keeps_the_job_on_demand() -> None:
    """Expiry follows the rule of `--on_exit`."""

    async def history(cluster: SimulatedCluster) -> None:
        await three_pods(cluster)

    result = run_scenario(history, "--timeout", "1h", "--on_exit", "keep", sweep=60)

    assert (result.code, result.jobs) == (ExitCode.TIMEOUT, [JOB])
    assert result.messages.count(f"PyTorchJob {JOB} goes on") == 1


def test_no_limit_ends_a_job_that_takes_hours() -> None:
    """There is no limit by default once all pods run."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(6 * 3600)
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=600)

    assert result.code == ExitCode.SUCCEEDED


def test_silent_operator_is_told_after_a_minute() -> None:
    """No conditions, no pods, no events: somebody should look at the operator."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        await asyncio.sleep(59)
        assert not any("not reacted" in line for line in cluster.messages)
        await asyncio.sleep(2)
        assert (
            "the operator has not reacted to the job: it wrote no event either" in cluster.messages
        )
        cluster.condition(job, "Created", "Succeeded")

    assert run_scenario(history).code == ExitCode.SUCCEEDED


def test_silent_operator_is_told_with_its_events() -> None:
    """What it wrote into events alone is told with it."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.warn(job, "FailedCreateService", "services is forbidden")
        await cluster.until_message(
            "the operator has not reacted to the job: FailedCreateService: services"
        )
        cluster.condition(job, "Created", "Succeeded")

    assert run_scenario(history).code == ExitCode.SUCCEEDED
