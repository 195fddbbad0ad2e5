"""A record that cannot be written, or not wholly."""

import resource
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from local.records import ended, finished, header, started

from dlf.errors import UsageError
from dlf.local.recorder import Recorder
from dlf.local.recording import recording
from dlf.local.removal import open_record
from dlf.local.run_record import RunHistory
from dlf.local.stored_runs import StoredRun

TARGET = RunHistory(header()).target(header().pods[0], started("job-master-0"))


def told(directory: Path, reason: str) -> str:
    return (
        f"cannot keep a record of this run in {directory} ({reason}): the job goes on, but dlf"
        " list, status and logs will not know all of it; to keep the next one, set XDG_STATE_HOME"
        " to a directory that can be written"
    )


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may be longer: the kernel takes what fits and refuses the rest, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_record_that_cannot_be_begun_is_said_once(tmp_path: Path) -> None:
    """The run goes on without."""
    (tmp_path / "file").touch()
    said: list[str] = []
    recorder = Recorder(tmp_path / "file", header(), said.append)
    recorder.add(finished())
    recorder.write_log(TARGET, [b"line"])
    recorder.close()
    assert [told(tmp_path / "file", "File exists")] == said


def test_directory_that_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    """The run goes on without."""
    (tmp_path / "file").touch()
    said: list[str] = []
    recorder = open_record(tmp_path / "file", header(), said.append)
    recorder.add(finished())
    recorder.close()
    assert [told(tmp_path / "file", "File exists")] == said


def test_text_that_is_no_utf_8_is_said_once(tmp_path: Path) -> None:
    """As of a TMPDIR in an old encoding."""
    said: list[str] = []
    Recorder(tmp_path, header(scratch="/tmp/\udcff"), said.append).close()
    assert [told(tmp_path, "it has text that is not UTF-8")] == said


def test_log_that_is_refused_ends_alone(tmp_path: Path) -> None:
    """The run's end is kept, or a run that succeeded would be told as killed."""
    said: list[str] = []
    recorder = Recorder(tmp_path, header(), said.append)
    with file_size_limit(1000):
        for _ in range(2):
            recorder.write_log(TARGET, [b"x" * 900])
        recorder.write_log(TARGET, [b"y"])
    recorder.add(finished())
    recorder.close()
    assert [told(tmp_path, "File too large")] == said
    run = StoredRun(tmp_path / "job")
    assert finished() == run.history.end
    reader = run.log(TARGET)
    assert b"x" * 900 + b"\n" + b"x" * 99 == reader.read()
    reader.close()


def test_event_that_is_refused_spoils_no_other(tmp_path: Path) -> None:
    """The half line of it is ended by the next one."""
    said: list[str] = []
    recorder = Recorder(tmp_path, header(), said.append)
    recorder.add(started("job-master-0"))
    with file_size_limit((tmp_path / "job/events").stat().st_size + 10):
        recorder.add(started("job-worker-0"))
        recorder.add(ended("job-worker-0"))
    recorder.add(ended("job-master-0", 3))
    recorder.add(finished("failed"))
    recorder.close()
    assert [told(tmp_path, "File too large")] == said
    history = StoredRun(tmp_path / "job").history
    (instance,) = history.instances["job-master-0"]
    assert (3, finished("failed")) == (instance.ended and instance.ended.code, history.end)
    assert [] == history.instances["job-worker-0"]


def test_record_that_was_removed_under_a_run_is_said_once(tmp_path: Path) -> None:
    """By a tidy user."""
    said: list[str] = []
    recorder = Recorder(tmp_path, header(), said.append)
    (tmp_path / "job/logs").rmdir()
    for _ in range(2):
        recorder.write_log(TARGET, [b"line"])
    recorder.close()
    assert [told(tmp_path, "No such file or directory")] == said


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (UsageError("--log_dir is wrong"), "failed", "--log_dir is wrong"),
        (ValueError("odd"), "failed", "a bug in dlf: ValueError: odd"),
        (CancelledError(), "stopped", "dlf was stopped before its end"),
    ],
)
def test_error_is_the_end_of_a_run(
    tmp_path: Path, error: BaseException, state: str, reason: str
) -> None:
    """Whatever it is; a bug is not told as a stop."""
    env = {"XDG_STATE_HOME": str(tmp_path)}
    with pytest.raises(type(error)), recording(env, header(), pytest.fail):
        raise error
    end = StoredRun(tmp_path / "dlf/local/job").history.end
    assert end
    assert (state, reason) == (end.state, end.reason)
