"""What only a cluster does to a pod comes before the errors of its peers."""

import asyncio

import pytest
from job.pytorch_histories import FIRST, JOB, MASTER, SECOND, fail, three_pods
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import SimulatedCluster


def order(result: ScenarioResult) -> list[str]:
    """The pods that failed, the first cause first."""
    assert result.outcome
    return [each.pod for each in result.outcome.failures]


def test_eviction_without_a_time_is_first() -> None:
    """finishedAt is missing; it was seen 2 s before its peers failed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(100)
        lost = {"exitCode": 137, "reason": "ContainerStatusUnknown", "finishedAt": None}
        status = {"name": "pytorch", "state": {"terminated": lost}}
        cluster.api.store.patch(
            cluster.pods,
            pods[2],
            {
                "status": {
                    "phase": "Failed",
                    "reason": "Evicted",
                    "message": "The node was low on resource: memory.",
                    "containerStatuses": [status],
                }
            },
        )
        await asyncio.sleep(2)
        for pod in pods[:2]:
            cluster.ends(pod, 1)
        await fail(cluster, job)

    result = run_scenario(history)

    assert order(result) == [SECOND, MASTER, FIRST]
    assert result.count(f"PyTorchJob {JOB} failed: pod {SECOND} (worker, rank 2): Evicted") == 1


def test_preemption_of_a_pod_that_was_created_again_is_in_the_summary() -> None:
    """Its line of progress has scrolled away when all of them fail."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.disrupts(pods[2])
        await asyncio.sleep(2)
        cluster.ends(pods[2], 143)
        cluster.api.store.remove(cluster.pods, pods[2])
        cluster.runs(cluster.pod(job, "worker", 1))
        await asyncio.sleep(20)
        for pod in pods:
            cluster.ends(pod, 1)
        await fail(cluster, job)

    result = run_scenario(history)

    (note,) = [line for line in result.messages if line.startswith("  note: before that")]
    assert f"took pod {SECOND} away" in note
    assert "PreemptionByScheduler" in note


@pytest.mark.parametrize(
    ("reason", "delay", "is_first"),
    [
        ("OOMKilled", 20, True),
        ("OOMKilled", 100, False),
        ("DeletionByTaintManager", 340, True),
        ("PreemptionByScheduler", 340, False),
    ],
)
def test_cluster_cause_is_first_as_long_as_victims_notice_before(
    reason: str, delay: int, is_first: bool
) -> None:
    """Peers end at once; a killed container may end, and a lost node be marked, later."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 1)
        await asyncio.sleep(delay)
        if reason == "OOMKilled":
            cluster.ends(pods[1], 137, reason=reason)
        else:
            cluster.disrupts(pods[1], reason)
        await fail(cluster, job)

    expected = [FIRST, MASTER] if is_first else [MASTER, FIRST]
    assert order(run_scenario(history, sweep=30)) == expected


def test_error_in_a_log_is_not_put_behind_a_later_eviction() -> None:
    """A rank that raised by itself did not do so because a peer was evicted afterwards."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        trace = 'Traceback (most recent call last):|  File "t.py", line 1, in <module>'
        cluster.ends(pods[0], 1, *trace.split("|"), "ValueError: no data")
        await asyncio.sleep(10)
        cluster.disrupts(pods[1], "EvictionByEvictionAPI")
        await fail(cluster, job)

    assert order(run_scenario(history)) == [MASTER, FIRST]
