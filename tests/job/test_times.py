"""Time limits: dlf's own clock, not the operator's."""

import asyncio

from job.histories import JOB, SECOND, succeed, three_pods
from job.play import play
from job.stage import Stage

from dlf.errors import ExitCode


async def two_of_three(stage: Stage) -> str:
    """The third pod cannot be scheduled."""
    job = await stage.job()
    stage.condition(job, "Created")
    for role in ("master", "worker"):
        stage.runs(stage.pod(job, role, 0))
    stage.unschedulable(stage.pod(job, "worker", 1), "0/5 nodes: 5 Insufficient nvidia.com/gpu")
    stage.condition(job, "Created", "Running")
    return job


def test_start_timeout_deletes_the_job_and_says_what_it_waited_for() -> None:
    """Exit 124, nothing left, and the scheduler's words."""

    async def history(stage: Stage) -> None:
        await two_of_three(stage)

    played = play(history, "--start_timeout", "20m", sweep=60)

    assert played.code == ExitCode.TIMEOUT
    assert (played.jobs, played.pods) == ([], [])
    assert (
        f"PyTorchJob {JOB} did not start within 20m (--start_timeout): waiting for 1 of 3 pods: "
        "1 pending: Unschedulable: 0/5 nodes: 5 Insufficient nvidia.com/gpu"
    ) in played.said
    assert 1200 <= played.ended < 1220


def test_start_timeout_is_an_hour_by_default() -> None:
    """A long image pull is no reason to end earlier."""

    async def history(stage: Stage) -> None:
        await two_of_three(stage)

    played = play(history, sweep=60)

    assert played.code == ExitCode.TIMEOUT
    assert 3600 <= played.ended < 3620


def test_start_timeout_does_not_end_a_job_that_has_started() -> None:
    """Also when the operator restarts its pods at that very moment."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        await asyncio.sleep(595)
        stage.api.store.remove(stage.pods, SECOND)
        stage.condition(job, "Created", "Restarting")
        await asyncio.sleep(20)
        stage.runs(stage.pod(job, "worker", 1))
        await succeed(stage, job, pods)

    played = play(history, "--start_timeout", "10m", sweep=60)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("waiting for 1 of 3 pods: 1 not there") == 1


def test_start_timeout_counts_pods_that_started_and_ended() -> None:
    """A pod that is done before the last one begins has started, even when it was cleaned up."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created")
        quick = stage.pod(job, "master", 0)
        stage.runs(quick)
        stage.ends(quick)
        await asyncio.sleep(2)
        stage.api.store.remove(stage.pods, quick)
        for index in range(2):
            stage.runs(stage.pod(job, "worker", index))
        await asyncio.sleep(1000)
        stage.condition(job, "Created", "Succeeded")

    played = play(history, "--start_timeout", "10m", sweep=60)

    assert played.code == ExitCode.SUCCEEDED


def test_timeout_deletes_the_job() -> None:
    """`--timeout` is for the whole job."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)

    played = play(history, "--timeout", "2h", sweep=60)

    assert played.code == ExitCode.TIMEOUT
    assert (played.jobs, played.pods) == ([], [])
    assert f"PyTorchJob {JOB} did not finish within 2h (--timeout): 3 of 3 running" in played.said
    assert 7200 <= played.ended < 7220


def test_timeout_keeps_the_job_on_demand() -> None:
    """Expiry follows the rule of `--on_exit`."""

    async def history(stage: Stage) -> None:
        await three_pods(stage)

    played = play(history, "--timeout", "1h", "--on_exit", "keep", sweep=60)

    assert (played.code, played.jobs) == (ExitCode.TIMEOUT, [JOB])
    assert played.said.count(f"PyTorchJob {JOB} goes on") == 1


def test_no_limit_ends_a_job_that_takes_hours() -> None:
    """There is no limit by default once all pods run."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        await asyncio.sleep(6 * 3600)
        await succeed(stage, job, pods)

    played = play(history, sweep=600)

    assert played.code == ExitCode.SUCCEEDED


def test_silent_operator_is_told_after_a_minute() -> None:
    """No conditions, no pods, no events: somebody should look at the operator."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        await asyncio.sleep(59)
        assert not any("not reacted" in line for line in stage.said)
        await asyncio.sleep(2)
        assert "the operator has not reacted to the job: it wrote no event either" in stage.said
        stage.condition(job, "Created", "Succeeded")

    assert play(history).code == ExitCode.SUCCEEDED


def test_silent_operator_is_told_with_its_events() -> None:
    """What it wrote into events alone is told with it."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.warn(job, "FailedCreateService", "services is forbidden")
        await stage.heard("the operator has not reacted to the job: FailedCreateService: services")
        stage.condition(job, "Created", "Succeeded")

    assert play(history).code == ExitCode.SUCCEEDED
