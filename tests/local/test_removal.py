"""Runs that are kept on disk: when they go, and what may keep them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from local.records import GONE, OTHER_HOST, finished, header, record, started

from dlf.errors import UsageError
from dlf.local import removal
from dlf.local.process_identity import identify
from dlf.local.removal import FORGOTTEN, KEPT_RUNS, delete_run, open_record
from dlf.local.run_record import RunHistory
from dlf.local.stored_runs import Launcher, StoredRun


def test_old_runs_make_room(tmp_path: Path) -> None:
    """Those of which nothing is left, the oldest first; never one that goes on, or may do so."""
    record(tmp_path, header("runs", created="2025-01-01T00:00:00Z")).close()
    elsewhere = header("elsewhere", created="2025-01-01T00:00:00Z", place=OTHER_HOST)
    record(tmp_path, elsewhere).close()
    record(tmp_path, header("killed", launcher=GONE, created="2025-01-01T00:00:00Z")).close()
    for number in range(KEPT_RUNS):
        made = header(f"ended-{number:02}", created=f"2026-01-02T03:04:{number:02}Z")
        record(tmp_path, made, finished()).close()
    said: list[str] = []
    open_record(tmp_path, header("next"), said.append).close()
    kept = {f"ended-{number:02}" for number in range(1, KEPT_RUNS)}
    assert {"runs", "elsewhere", "next"} | kept == {path.name for path in tmp_path.iterdir()}
    assert [] == said


def test_long_logs_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest run is kept however long its log is, and others while they fit."""
    monkeypatch.setattr(removal, "KEPT_BYTES", 10_000)
    for number, length in enumerate((1, 9_000, 5_000, 100_000)):
        made = header(f"run-{number}", created=f"2026-01-02T03:04:0{number}Z")
        recorder = record(tmp_path, made, finished())
        target = RunHistory(made).target(made.pods[0], started(made.pods[0].pod))
        recorder.write_log(target, [b"x" * length])
        recorder.close()
    open_record(tmp_path, header("next"), pytest.fail).close()
    assert {"run-2", "run-3", "next"} == {path.name for path in tmp_path.iterdir()}


def test_run_elsewhere_is_forgotten_at_last(tmp_path: Path) -> None:
    """Containers that share a home and are killed would fill it, each with a name of its own."""
    for number in range(KEPT_RUNS + 1):
        made = header(f"run-{number:02}", created=f"2026-01-02T03:04:{number:02}Z")
        record(tmp_path, msgspec.structs.replace(made, place=OTHER_HOST)).close()
    old = time.time() - FORGOTTEN.total_seconds() - 60
    for path in (tmp_path / "run-00").iterdir():
        os.utime(path, (old, old))
    open_record(tmp_path, header("next"), pytest.fail).close()
    assert 1 + KEPT_RUNS + 1 == len(list(tmp_path.iterdir()))
    for path in tmp_path.glob("run-*/*"):
        os.utime(path, (old, old))
    open_record(tmp_path, header("last"), pytest.fail).close()
    names = {f"run-{number:02}" for number in range(2, KEPT_RUNS + 1)}
    assert names | {"next", "last"} == {path.name for path in tmp_path.iterdir()}


def test_what_is_no_run_goes_at_last(tmp_path: Path) -> None:
    """As of a header that a power cut left empty, with all its logs; not while it is being made."""
    for name in ("old", "new"):
        (tmp_path / name / "logs").mkdir(parents=True)
        (tmp_path / name / "run.json").touch()
    old = time.time() - FORGOTTEN.total_seconds() - 60
    os.utime(tmp_path / "old", (old, old))
    open_record(tmp_path, header("next"), pytest.fail).close()
    assert {"new", "next"} == {path.name for path in tmp_path.iterdir()}


def test_end_of_a_killed_run_is_its_last_word(tmp_path: Path) -> None:
    """So `dlf prune` knows how old it is; what goes on has no end."""
    record(tmp_path, header(launcher=GONE)).close()
    for path in (tmp_path / "job").iterdir():
        os.utime(path, (1_000_000, 1_000_000))
    os.utime(tmp_path / "job/events", (2_000_000, 2_000_000))
    ended_at = StoredRun(tmp_path / "job").ended_at()
    assert ended_at
    assert 2_000_000 == ended_at.timestamp()
    for made in (header(), header(place=OTHER_HOST)):
        record(tmp_path, made).close()
        assert StoredRun(tmp_path / "job").ended_at() is None


def test_name_of_an_ended_run_is_taken_over(tmp_path: Path) -> None:
    """Names end in four random digits, so that happens."""
    old = record(tmp_path, header(launcher=GONE))
    old.write_log(RunHistory(header()).target(header().pods[0], started("job-master-0")), [b"old"])
    old.close()
    open_record(tmp_path, header(), pytest.fail).close()
    assert [] == list((tmp_path / "job/logs").iterdir())
    assert StoredRun(tmp_path / "job").launcher is Launcher.RUNNING


def test_name_of_a_run_that_goes_on_is_not_taken(tmp_path: Path) -> None:
    """The other one keeps its record; this one has none."""
    record(tmp_path, header(task="first")).close()
    said: list[str] = []
    second = open_record(tmp_path, header(task="second"), said.append)
    second.add(finished())
    second.close()
    assert ["another job job goes on: this one is not kept for dlf list"] == said
    run = StoredRun(tmp_path / "job")
    assert ("first", None) == (run.history.header.task, run.history.end)


def test_delete_refuses_what_is_out_of_reach(tmp_path: Path) -> None:
    """The numbers of another machine's processes mean nothing here."""
    record(tmp_path, header(place=OTHER_HOST)).close()
    with pytest.raises(UsageError) as caught:
        delete_run(StoredRun(tmp_path / "job"), pytest.fail)
    assert "'job' was started on another, whose processes cannot be seen from here" == (
        caught.value.message
    )
    assert (tmp_path / "job").exists()


def test_delete_of_another_users_run_is_refused(tmp_path: Path) -> None:
    """As of one that was started by sudo in this user's home."""
    launcher = identify(1)
    record(tmp_path, header(launcher=launcher)).close()
    run = StoredRun(tmp_path / "job")
    me = os.getresuid()
    if me[1] == 0:
        os.setresuid(65534, 65534, 0)
    try:
        with pytest.raises(UsageError) as caught:
            delete_run(run, lambda _: None)
    finally:
        os.setresuid(*me)
    assert "PyTorchJob job was started by another user, as process 1" == caught.value.message
    assert (tmp_path / "job").exists()


def test_record_that_cannot_be_removed_is_said(tmp_path: Path) -> None:
    """It would be 124 without a word."""
    record(tmp_path / "kept", header(launcher=GONE)).close()
    run = StoredRun(tmp_path / "kept/job")
    (tmp_path / "kept").rename(tmp_path / "moved")
    (tmp_path / "kept").symlink_to("moved")
    (tmp_path / "moved/job").rename(tmp_path / "job")
    (tmp_path / "moved/job").symlink_to("../job")  # which is not followed
    said: list[str] = []
    assert not delete_run(run, said.append)
    path = tmp_path / "kept/job"
    assert [
        "deleting PyTorchJob job",
        f"PyTorchJob job has ended, and {path} cannot be removed: whose is it?",
    ] == said


def test_delete_lets_a_dlf_end_that_has_its_result(tmp_path: Path) -> None:
    """It only waits for the reader of its output: a signal would change its exit code."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        record(tmp_path, header(launcher=identify(process.pid)), finished()).close()
        assert delete_run(StoredRun(tmp_path / "job"), lambda _: None)
        assert process.poll() is None
        process.kill()
    assert [] == list(tmp_path.iterdir())


def test_delete_spares_processes_that_took_over_numbers(tmp_path: Path) -> None:
    """A process that was started at another time is not the run's, nor is its session."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        other = msgspec.structs.replace(identify(process.pid), ticks=1)
        record(tmp_path, header(launcher=other), started("job-master-0", process=other)).close()
        said: list[str] = []
        assert delete_run(StoredRun(tmp_path / "job"), said.append)
        assert (["deleting PyTorchJob job"], None) == (said, process.poll())
        process.kill()
    assert [] == list(tmp_path.iterdir())
