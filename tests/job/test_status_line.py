"""What the status line of a terminal says of a job."""

import asyncio

from job.pytorch_histories import FIRST, MASTER, SECOND, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster
from job.test_times import two_of_three

from dlf.errors import ExitCode


def test_status_line_says_what_the_job_waits_for() -> None:
    """Pods by state, and the scheduler's words, second by second; then nothing is waited for."""
    shown: list[str] = []

    async def history(cluster: SimulatedCluster) -> None:
        job = await two_of_three(cluster)
        await asyncio.sleep(3.5)
        cluster.runs(SECOND)
        await asyncio.sleep(2)
        cluster.ends(FIRST)
        await asyncio.sleep(1)
        await succeed(cluster, job, [MASTER, SECOND])

    result = run_scenario(history, show_status=shown.append)

    assert result.code == ExitCode.SUCCEEDED
    waiting = (
        "; waiting for 1 of 3 pods: 1 pending: Unschedulable: "
        "0/5 nodes: 5 Insufficient nvidia.com/gpu"
    )
    assert shown[:6] == [
        *(f"dlf: {second}s, 2 running, 1 pending{waiting}" for second in (1, 2, 3)),
        *("dlf: 4s, 3 running", "dlf: 5s, 3 running", "dlf: 6s, 2 running, 1 succeeded"),
    ]


def test_status_line_names_what_keeps_the_pods() -> None:
    """A sidecar that runs on, and pods that the operator has not created again."""
    shown: list[str] = []

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.store.remove(cluster.pods, SECOND)
        await asyncio.sleep(2)
        cluster.runs(cluster.pod(job, "worker", 1))
        cluster.injects(pods[0], "istio-proxy")
        cluster.ends_training(pods[0])
        for pod in pods[1:]:
            cluster.ends(pod)

    result = run_scenario(history, show_status=shown.append)

    assert result.code == ExitCode.SUCCEEDED
    assert "dlf: 1s, 2 running, 1 not created; waiting for 1 of 3 pods: 1 not there" in shown
    assert any(
        line.endswith(f"1 running, 2 succeeded; waiting for container istio-proxy of pod {MASTER}")
        for line in shown
    )
