"""Whole histories of a job, end to end over a real socket, on the fake clock."""

import asyncio
from unittest.mock import patch

import pytest
from job.pytorch_histories import succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster
from typing_extensions import override

from dlf.commands import cluster_training
from dlf.errors import ExitCode
from dlf.logs.multiplexer import Multiplexer


def test_success_prints_all_logs_and_exits_0() -> None:
    """A job that succeeds ends dlf with 0 after every line of every pod was printed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.ends(pod, 0, "bye")
        cluster.condition(
            job, "Created", "-Running", "Succeeded", completionTime="2026-01-01T00:00:00Z"
        )

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert sorted(result.out) == [
        "pytorchjob-demo-ab12-master-0 bye",
        "pytorchjob-demo-ab12-master-0 hello from 0",
        "pytorchjob-demo-ab12-worker-0 bye",
        "pytorchjob-demo-ab12-worker-0 hello from 1",
        "pytorchjob-demo-ab12-worker-1 bye",
        "pytorchjob-demo-ab12-worker-1 hello from 2",
    ]
    assert result.messages[0] == "submitted PyTorchJob pytorchjob-demo-ab12 in namespace pipeline"


def test_failure_names_the_first_pod_and_exits_1() -> None:
    """A failed job ends dlf with 1, and the block names the pod that failed first."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[2], 7, "ValueError: no data")
        await asyncio.sleep(3)
        cluster.ends(pods[0], 1, "NCCL error: remote process exited")
        cluster.ends(pods[1], 143)
        cluster.condition(job, "Created", "-Running", "Failed")

    result = run_scenario(history)

    assert result.code == ExitCode.FAILED
    assert result.outcome
    assert [f.pod.rpartition("ab12-")[2] for f in result.outcome.failures] == [
        "worker-1",
        "master-0",
        "worker-0",
    ]
    assert (
        "PyTorchJob pytorchjob-demo-ab12 failed: pod pytorchjob-demo-ab12-worker-1"
        " (worker, rank 2): exit code 7, on node node-1 (and 2 more)"
    ) in result.messages
    assert "  | ValueError: no data" in result.messages


def test_job_deleted_by_someone_else_exits_5() -> None:
    """A job that vanishes while it is followed is a result of its own."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        cluster.api.store.remove(cluster.jobs, job)

    result = run_scenario(history)

    assert result.code == ExitCode.DELETED
    assert "PyTorchJob pytorchjob-demo-ab12 was deleted by someone else" in result.messages


def test_timeout_inside_following_is_no_late_submission() -> None:
    """The time limit of the submission covers the submission only: such an error is a bug."""

    class Impatient(Multiplexer):
        @override
        async def drain(self, timeout: float) -> bool:
            raise TimeoutError("a bug")

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await succeed(cluster, job, pods)

    with (
        patch.object(cluster_training, "Multiplexer", Impatient),
        pytest.raises(TimeoutError) as raised,
    ):
        run_scenario(history)

    assert str(raised.value) == "a bug"
