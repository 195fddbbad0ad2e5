"""Which processes belong to a job."""

import time

import pytest
from owned_process import OwnedProcess

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
