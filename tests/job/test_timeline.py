"""How long the phases of a job took, from the objects and events of its cluster."""

import asyncio

from job.pytorch_histories import MASTER, SECOND, succeed
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.outcome.timeline import Timeline


async def slow_start(cluster: SimulatedCluster) -> tuple[str, list[str]]:
    """Nodes after 10 s, images after 40 s, containers after 5 s."""
    job = await cluster.job()
    pods = [
        cluster.pod(job, "master", 0),
        cluster.pod(job, "worker", 0),
        cluster.pod(job, "worker", 1),
    ]
    await asyncio.sleep(10)
    for pod in pods:
        cluster.schedules(pod)
    await asyncio.sleep(40)
    for pod in pods:
        cluster.pulled(pod)
    await asyncio.sleep(5)
    for pod in pods:
        cluster.runs(pod)
    return job, pods


def test_phases_are_those_of_the_objects_and_events() -> None:
    """Queue, pull, start and run, also when the events are gone at the end."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await slow_start(cluster)
        await asyncio.sleep(3 * 3600)
        for event in cluster.api.store.list(cluster.events):
            cluster.api.store.remove(cluster.events, event["metadata"]["name"])
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=60)

    assert result.outcome
    assert result.outcome.timeline == Timeline(
        queue_seconds=10,
        pull_seconds=40,
        start_seconds=5,
        run_seconds=3 * 3600,
        pods=3,
        peak_pods=3,
    )
    assert result.messages[-1] == (
        "  queued 10s, pulled in 40s, started in 5s, ran 3h; 3 pods, 0 restarts"
    )
    assert 1 == pulled_lists(result)


def test_pod_that_was_created_again_has_its_own_pull() -> None:
    """It is read at the end; what was read before is kept."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await slow_start(cluster)
        await asyncio.sleep(100)
        for event in cluster.api.store.list(cluster.events):
            cluster.api.store.remove(cluster.events, event["metadata"]["name"])
        cluster.api.store.remove(cluster.pods, SECOND)
        again = cluster.pod(job, "worker", 1)
        cluster.schedules(again)
        await asyncio.sleep(7)
        cluster.pulled(again)
        cluster.runs(again)
        await asyncio.sleep(100)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.messages[-1] == (
        "  queued 2m35s, pulled in 7s, started in 0s, ran 1m40s; 3 pods, 0 restarts"
    )
    assert 2 == pulled_lists(result)


def test_events_that_dlf_may_not_read_are_left_out() -> None:
    """The pull is then part of the start; they are not asked for again."""

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.fail(path="/events", times=None, status=403)
        job, pods = await slow_start(cluster)
        await asyncio.sleep(60)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.messages[-1] == ("  queued 10s, started in 45s, ran 1m; 3 pods, 0 restarts")
    assert 1 == pulled_lists(result)


def test_events_that_do_not_come_do_not_hold_up_the_result() -> None:
    """For five seconds at most."""
    ended: list[float] = []

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.fail(path="/events", times=None, stall=True)
        job, pods = await slow_start(cluster)
        await asyncio.sleep(60)
        await succeed(cluster, job, pods)
        ended.append(cluster.now())

    result = run_scenario(history)

    assert result.messages[-1].startswith("  queued 10s, started in 45s, ran 1m; ")
    assert result.ended <= ended[0] + 6


def test_peak_is_told_where_pods_took_turns() -> None:
    """Two pods of three at once."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        first = cluster.pod(job, "worker", 0)
        cluster.runs(first)
        await asyncio.sleep(30)
        cluster.runs(cluster.pod(job, "master", 0))
        await asyncio.sleep(30)
        cluster.ends(first)
        await asyncio.sleep(30)
        last = cluster.pod(job, "worker", 1)
        cluster.runs(last)
        await asyncio.sleep(30)
        await succeed(cluster, job, [MASTER, last])

    result = run_scenario(history)

    assert result.messages[-1].endswith("3 pods (at most 2 at once), 0 restarts")


def pulled_lists(result: ScenarioResult) -> int:
    """How often the events of pulls were listed."""
    selectors = [request.query.get("fieldSelector", "") for request in result.api.requests]
    return sum("reason=Pulled" in selector for selector in selectors)
