"""Standard output that nobody reads any more, or whose reader is slow."""

import asyncio
import os
from pathlib import Path
from unittest.mock import patch

from job.histories import JOB, SECOND, fail, succeed, three_pods
from job.play import play
from job.stage import Stage

from dlf.commands import printing
from dlf.errors import ExitCode


def test_job_is_followed_on_when_the_reader_of_stdout_has_gone() -> None:
    """`| head`: quietly, to the job's own result."""
    reader, writer = os.pipe()
    os.close(reader)

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        for _ in range(3):
            await asyncio.sleep(5)
            stage.api.logs.of("pipeline", pods[0], "pytorch").write("more", "and more")
        stage.ends(pods[2], 7)
        await fail(stage, job)

    try:
        played = play(history, stdout=writer)
    finally:
        os.close(writer)

    assert played.code == ExitCode.FAILED
    assert played.count(f"failed: pod {SECOND} (worker, rank 2): exit code 7") == 1
    assert not any("output" in line or "Traceback" in line for line in played.said)


def test_full_disk_is_told_and_the_job_followed_on() -> None:
    """Log lines are lost then, the result is not."""
    full = os.open("/dev/full", os.O_WRONLY)

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        await asyncio.sleep(5)
        await succeed(stage, job, pods)

    try:
        played = play(history, stdout=full)
    finally:
        os.close(full)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("standard output: No space left on device") == 1


def test_stop_is_not_held_up_by_a_reader_that_does_not_read() -> None:
    """A blocked pipe blocks neither the watches nor the signal."""
    reader, writer = os.pipe()

    async def history(stage: Stage) -> None:
        _, pods = await three_pods(stage)
        log = stage.api.logs.of("pipeline", pods[0], "pytorch")
        log.write(*["x" * 1000] * 3000)
        await asyncio.sleep(30)
        stage.signal()

    try:
        with patch.object(printing, "_FLUSH_SECONDS", 0.1):
            played = play(history, stdout=writer)
    finally:
        os.close(reader)
        os.close(writer)

    assert (played.code, played.jobs) == (ExitCode.SIGTERM, [])


def test_log_dir_that_cannot_be_made_costs_no_job(tmp_path: Path) -> None:
    """It is found out before anything is sent."""
    (tmp_path / "file").touch()

    async def history(stage: Stage) -> None:
        pass

    played = play(history, "--log_dir", str(tmp_path / "file"))

    assert played.code == ExitCode.USAGE
    assert (played.jobs, JOB in str(played.error)) == ([], False)
