"""Runs that are kept on disk: what is told of them, and when they go."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from local.records import GONE, OTHER_HOST, ended, finished, header, record, started

from dlf.errors import JobNotFound, UsageError
from dlf.inspect.local_views import run_details, run_row
from dlf.local.process_identity import Place, identify, this_place
from dlf.local.recorder import state_directory
from dlf.local.run_record import RunHistory
from dlf.local.stored_runs import StoredRun, find_run, stored_runs

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
        ({"HOME": "/" + "x" * 5000}, None),
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
            "its dlf, process 1, is gone without a result, as after SIGKILL, or when its end could"
            " not be written; nothing of it runs",
            id="killed, and its number reused",
        ),
        pytest.param(
            {"place": LATER_BOOT},
            [],
            "killed",
            f"its dlf, process {os.getpid()}, is gone without a result, as after SIGKILL, or"
            " when its end could not be written; nothing of it runs",
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
        pytest.param(
            {"place": msgspec.structs.replace(HERE, host="earlier")},
            [],
            "running",
            "",
            id="machine got another name",
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


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(b"", id="empty, as after a power cut"),
        pytest.param(b"{}", id="nothing in it"),
        pytest.param(b'{"name":"\xff"}', id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(msgspec.json.encode(header(mark="")), id="mark of all processes"),
        pytest.param(
            msgspec.json.encode(header()).replace(b"04:05Z", b"04:05"), id="time without a zone"
        ),
    ],
)
def test_damaged_header_is_no_run(tmp_path: Path, damage: bytes) -> None:
    """It is left out, and the others are found."""
    record(tmp_path, header("good")).close()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/run.json").write_bytes(damage)
    assert ["good"] == [run.history.header.name for run in stored_runs(tmp_path)]


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 100,
        b'{"type":"finished","state":"\xff","reason":"","time":""}',
        b'{"type":"finished","state":"succeeded","reason":"","time":"never"}',
        b"[" * 100_000,
        b'{"type":"started","pod":"job-master-0","restart":"x"}',
    ],
)
def test_damaged_event_is_passed_over(tmp_path: Path, damage: bytes) -> None:
    """Those before and after it count."""
    recorder = record(tmp_path, header(), started("job-master-0"))
    with (tmp_path / "job/events").open("ab") as file:
        file.write(damage + b"\n")
    recorder.add(ended("job-master-0", 7))
    recorder.close()
    run = StoredRun(tmp_path / "job")
    (instance,) = run.history.instances["job-master-0"]
    assert (7, None) == (instance.ended and instance.ended.code, run.history.end)


def test_directory_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """ "There are no jobs" would be wrong."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        stored_runs(tmp_path / "file")
    assert f"cannot read {tmp_path / 'file'}, where runs are kept: Not a directory" == (
        caught.value.message
    )


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
