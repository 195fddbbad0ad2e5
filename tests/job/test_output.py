"""Standard output that nobody reads any more, or whose reader is slow."""

import asyncio
import os
from pathlib import Path
from unittest.mock import patch

from job.pytorch_histories import JOB, SECOND, fail, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.commands import printing
from dlf.errors import ExitCode


def test_job_is_followed_on_when_the_reader_of_stdout_has_gone() -> None:
    """`| head`: quietly, to the job's own result."""
    reader, writer = os.pipe()
    os.close(reader)

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for _ in range(3):
            await asyncio.sleep(5)
            cluster.api.logs.of("pipeline", pods[0], "pytorch").write("more", "and more")
        cluster.ends(pods[2], 7)
        await fail(cluster, job)

    try:
        result = run_scenario(history, stdout=writer)
    finally:
        os.close(writer)

    assert result.code == ExitCode.FAILED
    assert result.count(f"failed: pod {SECOND} (worker, rank 2): exit code 7") == 1
    assert not any("output" in line or "Traceback" in line for line in result.messages)


def test_full_disk_is_told_and_the_job_followed_on() -> None:
    """Log lines are lost then, the result is not."""
    full = os.open("/dev/full", os.O_WRONLY)

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(5)
        await succeed(cluster, job, pods)

    try:
        result = run_scenario(history, stdout=full)
    finally:
        os.close(full)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("standard output: No space left on device") == 1


def test_stop_is_not_held_up_by_a_reader_that_does_not_read() -> None:
    """A blocked pipe blocks neither the watches nor the signal."""
    reader, writer = os.pipe()

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await three_pods(cluster)
        log = cluster.api.logs.of("pipeline", pods[0], "pytorch")
        log.write(*["x" * 1000] * 3000)
        await asyncio.sleep(30)
        cluster.signal()

    try:
        with patch.object(printing, "_FLUSH_SECONDS", 0.1):
            result = run_scenario(history, stdout=writer)
    finally:
        os.close(reader)
        os.close(writer)

    assert (result.code, result.jobs) == (ExitCode.SIGTERM, [])


def test_log_dir_that_cannot_be_made_costs_no_job(tmp_path: Path) -> None:
    """It is found out before anything is sent."""
    (tmp_path / "file").touch()

    async def history(cluster: SimulatedCluster) -> None:
        pass

    result = run_scenario(history, "--log_dir", str(tmp_path / "file"))

    assert result.code == ExitCode.USAGE
    assert (result.jobs, JOB in str(result.error)) == ([], False)
