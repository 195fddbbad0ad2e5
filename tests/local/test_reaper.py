"""Which processes belong to a job."""

import time
from pathlib import Path

import pytest
from owned_process import OwnedProcess

from dlf.local import reaper
from dlf.local.reaper import ProcessInfo, job_processes, kill

MARK = b"5f1e"
MARKED = b"A=1\0DLF_LOCAL_JOB= 5f1e/pod-0/\0"


@pytest.mark.parametrize(
    ("processes", "found"),
    [
        pytest.param([ProcessInfo(7, 1, 7, b"A=1\0")], set(), id="someone else's"),
        pytest.param([ProcessInfo(7, 1, 7, MARKED)], {7}, id="marked"),
        pytest.param([ProcessInfo(8, 1, 8, MARKED)], {8}, id="an orphan in a session of its own"),
        pytest.param([ProcessInfo(8, 1, 99, b"")], {8}, id="of a pod's session"),
        pytest.param(
            [ProcessInfo(7, 1, 5, MARKED), ProcessInfo(8, 1, 5, b"")], {7}, id="of another session"
        ),
        pytest.param(
            [ProcessInfo(9, 8, 9, b""), ProcessInfo(8, 7, 8, b""), ProcessInfo(7, 1, 7, MARKED)],
            {7, 8, 9},
            id="a grandchild without the mark",
        ),
        pytest.param(
            [ProcessInfo(7, 1, 7, MARKED), ProcessInfo(1, 0, 1, b"")], {7}, id="not its parent"
        ),
    ],
)
def test_members_are_found_by_mark_session_and_parent(
    processes: list[ProcessInfo], found: set[int]
) -> None:
    """One of the three is enough."""
    assert found == job_processes(MARK, {99}, processes)


def test_kill_returns_when_they_are_gone() -> None:
    """Processes with the mark are dead when it returns; one whose parent has not looked counts."""
    mark = f"test-{time.monotonic_ns()}"
    with OwnedProcess[bytes](["sleep", "1000"], env={"MARK": mark}) as process:
        kill(mark, ())
        assert -9 == process.wait()


def test_kill_finds_a_process_that_becomes_another_program() -> None:
    """Whenever that is: between two programs it has no environment that could be read."""
    for delay in range(50):
        mark = f"test-{time.monotonic_ns()}"
        words = ["setsid", "sleep", "1000"]
        with OwnedProcess[bytes](words, env={"MARK": mark, "PATH": "/usr/bin:/bin"}) as process:
            time.sleep(delay * 0.0002)
            kill(mark, ())
            assert -9 == process.wait(timeout=60)


def test_environment_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of /proc/PID in the middle of an exec, and after it."""
    for name in ("environ", "cmdline"):
        (tmp_path / name).touch()
    (tmp_path / "exe").symlink_to("/bin/true")

    def go_on(_: float) -> None:
        (tmp_path / "environ").write_bytes(MARKED)

    monkeypatch.setattr("dlf.local.reaper.time.sleep", go_on)
    assert MARKED == reaper._environ(tmp_path, time.monotonic() + 60)


@pytest.mark.parametrize(("command_line", "has_program"), [(b"env\0-i\0", True), (b"", False)])
def test_process_without_environment_is_not_waited_for(
    tmp_path: Path, command_line: bytes, has_program: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has cleared it; and a thread of the kernel."""
    (tmp_path / "environ").touch()
    (tmp_path / "cmdline").write_bytes(command_line)
    if has_program:
        (tmp_path / "exe").symlink_to("/bin/true")
    monkeypatch.setattr("dlf.local.reaper.time.sleep", pytest.fail)
    assert b"" == reaper._environ(tmp_path, time.monotonic() + 60)
