"""A job in which nothing happens any more: a rank has raised, and others wait for it."""

import asyncio
import json

from job.pytorch_histories import MASTER, SECOND, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode
from dlf.outcome import report

TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "train.py", line 7, in <module>',
    "    step(batch)",
    "ValueError: no data",
)


def test_rank_that_raised_is_told_once_when_nothing_happens() -> None:
    """After ten minutes, with rank and error; a re-listing of the pods is no change."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.prints(pods[2], *TRACEBACK)
        await asyncio.sleep(400)
        cluster.api.store.compact()
        cluster.api.expire_watches()
        await asyncio.sleep(1800)
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=30)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("nothing has happened for 10m") == 1
    assert result.count(f"pod {SECOND} (worker, rank 2): Running, on node node-1: ValueError") == 1


def test_silence_without_a_traceback_is_not_told() -> None:
    """A long step of a training looks the same."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(5000)
        await succeed(cluster, job, pods)

    assert run_scenario(history, sweep=30).count("nothing has happened") == 0


def test_hang_timeout_stops_the_job_and_names_the_silent_ranks() -> None:
    """Exit 124; the rank that raised is first, and the report has the last lines of all."""

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await three_pods(cluster)
        cluster.prints(pods[2], *TRACEBACK)

    result = run_scenario(history, "--hang_timeout", "5m")

    assert (result.code, result.jobs, result.pods) == (ExitCode.TIMEOUT, [], [])
    assert 300 <= result.ended < 320
    assert result.count(f"hung: no line and no change for 5m (--hang_timeout): pod {SECOND}") == 1
    assert result.count(f"then pod {MASTER} (master, rank 0): Running, silent") == 1
    assert result.outcome
    told = json.loads(report.to_json(result.outcome))
    assert [each["last_lines"][-1] for each in told["failures"]] == [
        "ValueError: no data",
        "hello from 0",
        "hello from 1",
    ]


def test_each_line_and_each_change_begins_the_hang_timeout_anew() -> None:
    """A line from one rank is enough; so is a change of a pod."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for number in range(5):
            await asyncio.sleep(200)
            cluster.prints(pods[0], f"step {number}")
            await asyncio.sleep(200)
            cluster.restarts(pods[1], number + 1, 1)
        await succeed(cluster, job, pods)

    assert run_scenario(history, "--hang_timeout", "5m", sweep=30).code == ExitCode.SUCCEEDED


def test_waiting_for_pods_is_no_hang() -> None:
    """`--start_timeout` is for that."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.pod(job, "master", 0)
        await asyncio.sleep(1200)
        cluster.api.store.remove(cluster.jobs, job)

    result = run_scenario(history, "--hang_timeout", "5m", sweep=30)

    assert result.code == ExitCode.DELETED
