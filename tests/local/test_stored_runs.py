"""Runs that are kept on disk: what is told of them, and when they go."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from local.records import GONE, ended, finished, header, record, started

from dlf.errors import JobNotFound, UsageError
from dlf.inspect.local_views import run_details, run_row
from dlf.local.process_identity import Place, identify, this_place
from dlf.local.recorder import Recorder, state_directory
from dlf.local.run_record import RunHistory
from dlf.local.stored_runs import (
    KEPT_RUNS,
    Launcher,
    StoredRun,
    delete_run,
    find_run,
    open_record,
    stored_runs,
)

HERE = this_place()


def test_history_follows_restarts_and_attempts() -> None:
    """The last start of a container is what an end belongs to."""
    history = RunHistory(
        header(),
        [
            started("job-master-0"),
            ended("job-master-0", 3),
            started("job-master-0", restart=1),
            started("job-worker-0"),
        ],
    )
    codes = [each.ended and each.ended.code for each in history.instances["job-master-0"]]
    assert [3, None] == codes
    assert {"job-master-0", "job-worker-0"} == set(history.open_instances())
    history.apply(ended("job-worker-0"))
    assert {"job-master-0"} == set(history.open_instances())
    assert history.end is None
    history.apply(finished("failed"))
    assert history.end == finished("failed")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"XDG_STATE_HOME": "/x"}, "/x/dlf/local"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/"}, "/x/dlf/local"),
        ({"XDG_STATE_HOME": "x", "HOME": "/"}, "/.local/state/dlf/local"),
        ({"HOME": "/"}, "/.local/state/dlf/local"),
        ({"HOME": "/nonexistent"}, None),
        ({"HOME": ""}, None),
        ({}, None),
    ],
)
def test_state_directory_is_that_of_xdg(env: dict[str, str], expected: str | None) -> None:
    """A relative path is ignored, as the specification has it; no home is ever created."""
    assert (Path(expected) if expected else None) == state_directory(env)


def test_run_is_read_while_it_is_written(tmp_path: Path) -> None:
    """Each event once, whole lines only."""
    with_events = record(tmp_path, header(), started("job-master-0"))
    run = StoredRun(tmp_path / "job")
    assert 1 == len(run.history.instances["job-master-0"])
    with_events.add(ended("job-master-0", 7))
    with (tmp_path / "job/events").open("ab") as file:
        file.write(b'{"type":"of a later version"}\n{"type":"finished","state":"succ')
    run.refresh()
    run.refresh()
    assert 1 == len(run.history.instances["job-master-0"])
    assert {} == run.history.open_instances()
    assert (None, False) == (run.history.end, run.is_over)
    with_events.close()


LATER_BOOT = Place(HERE.host, "an earlier boot", HERE.pid_namespace)
OTHER_HOST = Place("another", "another", HERE.pid_namespace)
OTHER_CONTAINER = Place("another", HERE.boot, 1)


@pytest.mark.parametrize(
    ("changes", "events", "state", "reason"),
    [
        pytest.param({}, [], "running", "", id="runs"),
        pytest.param({}, [finished()], "succeeded", "", id="ended"),
        pytest.param({}, [finished("failed", "why")], "failed", "why", id="failed"),
        pytest.param(
            {"launcher": GONE},
            [],
            "killed",
            "its dlf, process 1, is gone without a result, as after SIGKILL; nothing of it runs",
            id="killed, and its number reused",
        ),
        pytest.param(
            {"place": LATER_BOOT},
            [],
            "killed",
            f"its dlf, process {os.getpid()}, is gone without a result, as after SIGKILL;"
            " nothing of it runs",
            id="machine restarted",
        ),
        pytest.param(
            {"place": OTHER_HOST},
            [],
            "unknown",
            "it was started on another, which cannot be seen from here",
            id="another machine with the same home",
        ),
        pytest.param(
            {"place": OTHER_CONTAINER},
            [],
            "unknown",
            "it was started on another, which cannot be seen from here",
            id="another container with the same home",
        ),
        pytest.param({"place": OTHER_HOST}, [finished()], "succeeded", "", id="ended elsewhere"),
    ],
)
def test_state_is_told(
    tmp_path: Path, changes: dict[str, Any], events: list[Any], state: str, reason: str
) -> None:
    """By the record's end; without one, by whether its dlf is there."""
    record(tmp_path, header(**changes), *events).close()
    details = run_details(StoredRun(tmp_path / "job"))
    assert (state, reason) == (details.job.state, details.reason)


def test_phases_of_ranks_are_told(tmp_path: Path) -> None:
    """What runs, by process; what ended, by exit code; restarts counted."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        me = identify(process.pid)
        events = [
            started("job-master-0"),
            ended("job-master-0", 1),
            started("job-master-0", restart=1, process=me),
            started("job-worker-0"),
            ended("job-worker-0", 143, stopped=True),
        ]
        record(tmp_path, header(), *events).close()
        details = run_details(StoredRun(tmp_path / "job"))
        assert [
            ("job-master-0", 0, 1, f"running, process {process.pid}"),
            ("job-worker-0", 1, 0, "stopped: exit code 143"),
        ] == [(each.name, each.rank, each.restarts, each.state) for each in details.pods]
        assert (1, 2) == (details.job.running, details.job.total)
    details = run_details(StoredRun(tmp_path / "job"))
    assert "running" == details.pods[0].state  # dlf has not noticed its end yet
    assert 0 == details.job.running


def test_pod_that_was_never_started_is_told(tmp_path: Path) -> None:
    """It waits while the run goes on."""
    record(tmp_path, header()).close()
    assert ["pending"] * 2 == [each.state for each in run_details(StoredRun(tmp_path / "job")).pods]
    record(tmp_path, header(), finished("failed")).close()
    assert ["never started"] * 2 == [
        each.state for each in run_details(StoredRun(tmp_path / "job")).pods
    ]


def test_runs_are_listed_the_newest_first(tmp_path: Path) -> None:
    """What is no run is left out."""
    (tmp_path / "half-made").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/run.json").write_text("{}")
    record(tmp_path, header("old", created="2026-01-02T03:04:05.5Z")).close()
    record(tmp_path, header("new", created="2026-01-02T03:04:06.5Z")).close()
    assert ["new", "old"] == [run_row(run).name for run in stored_runs(tmp_path)]
    assert [] == stored_runs(None) == stored_runs(tmp_path / "none")


def test_wrong_name_is_told(tmp_path: Path) -> None:
    """With the nearest one."""
    record(tmp_path, header("pytorchjob-1f2e")).close()
    with pytest.raises(JobNotFound) as caught:
        find_run(tmp_path, "pytorchjob-1f2f")
    assert (
        "there is no job 'pytorchjob-1f2f' on this machine",
        "did you mean pytorchjob-1f2e?",
    ) == (
        caught.value.message,
        caught.value.hint,
    )


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
    assert ["another job job runs on this machine: this one is not kept for dlf list"] == said
    run = StoredRun(tmp_path / "job")
    assert ("first", None) == (run.history.header.task, run.history.end)


def test_record_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    """The run goes on without."""
    (tmp_path / "file").touch()
    said: list[str] = []
    recorder = Recorder(tmp_path / "file", header(), said.append)
    recorder.add(finished())
    recorder.write_log(RunHistory(header()).target(header().pods[0], started("x")), [b"line"])
    recorder.close()
    assert [
        f"cannot write {tmp_path / 'file' / 'job'} (File exists): what follows is not kept for dlf"
        " list, status and logs"
    ] == said


def test_record_that_was_removed_under_a_run_is_said_once(tmp_path: Path) -> None:
    """By a tidy user, or a full disk."""
    said: list[str] = []
    recorder = Recorder(tmp_path, header(), said.append)
    (tmp_path / "job/logs").rmdir()
    target = RunHistory(header()).target(header().pods[0], started("job-master-0"))
    for _ in range(2):
        recorder.write_log(target, [b"line"])
    recorder.close()
    assert 1 == len(said)
    assert "(No such file or directory)" in said[0]


def test_delete_refuses_what_is_out_of_reach(tmp_path: Path) -> None:
    """The numbers of another machine's processes mean nothing here."""
    record(tmp_path, header(place=OTHER_HOST)).close()
    with pytest.raises(UsageError) as caught:
        delete_run(StoredRun(tmp_path / "job"), pytest.fail)
    assert "'job' was started on another, whose processes cannot be seen from here" == (
        caught.value.message
    )
    assert (tmp_path / "job").exists()


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
