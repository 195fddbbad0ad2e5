"""Which logs a pod has, and when to open them: pure functions of what is known."""

from typing import Any

import msgspec
import pytest

from dlf.logs.instances import Instance, instances
from dlf.logs.tail_state import (
    IDLE_TIMEOUT_SECONDS,
    MAX_IDLE_TIMEOUT_SECONDS,
    MAX_PAUSE_SECONDS,
    MAX_REFUSALS,
    StreamEnd,
    TailState,
)
from dlf.manifest.observed import Pod


def pod(*statuses: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Pod:
    return msgspec.convert(
        {
            "metadata": {"name": "p", "uid": "u"},
            "status": {"containerStatuses": statuses, "initContainerStatuses": init},
        },
        Pod,
    )


def status(ident: str = "a", count: int = 0, last: str = "", **state: Any) -> dict[str, Any]:
    before = {"terminated": {"containerID": last}} if last else {}
    return {
        "name": "c",
        "containerID": ident,
        "restartCount": count,
        "state": state,
        "lastState": before,
    }


ENDED: dict[str, Any] = {"terminated": {"containerID": "a", "exitCode": 1}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(status(waiting={}), [], id="not created yet"),
        pytest.param(status(), [], id="no state"),
        pytest.param(status(running={}), [Instance("c", "a", 0, ended=False)], id="running"),
        pytest.param(status(**ENDED), [Instance("c", "a", 0, ended=True)], id="ended"),
        pytest.param(
            status(terminated={"exitCode": 137, "reason": "ContainerStatusUnknown"}, ident=""),
            [],
            id="evicted before it started",
        ),
        pytest.param(
            status("b", 1, last="a", running={}),
            [
                Instance("c", "a", 0, ended=True, previous=True),
                Instance("c", "b", 1, ended=False),
            ],
            id="restarted",
        ),
        pytest.param(
            status("a", 0, last="a", waiting={"reason": "CrashLoopBackOff"}),
            [Instance("c", "a", 0, ended=True)],
            id="waiting to start again",
        ),
        pytest.param(
            status("b", 1, last="a", terminated={"containerID": "b"}),
            [
                Instance("c", "a", 0, ended=True, previous=True),
                Instance("c", "b", 1, ended=True),
            ],
            id="ended after a restart",
        ),
        pytest.param(
            status("", running={}), [Instance("c", "u#0", 0, ended=False)], id="no container ID"
        ),
    ],
)
def test_instances_are_read_off_the_status(given: dict[str, Any], expected: list[Instance]) -> None:
    """Each container has its current instance, and the one before it if it was restarted."""
    assert expected == instances(pod(given))


def test_instances_of_init_containers_come_first() -> None:
    """They ran first, so their logs are started first."""
    init = status(**ENDED) | {"name": "fetch"}
    assert ["fetch", "c"] == [
        each.container for each in instances(pod(status(running={}), init=(init,)))
    ]


def state(**facts: bool) -> TailState:
    made = TailState(**{"ended": False} | facts)
    made.start()
    made.opened = True
    return made


@pytest.mark.parametrize(
    ("ended", "end", "finished", "missing"),
    [
        (True, StreamEnd.CLEAN, True, ""),
        (False, StreamEnd.CLEAN, False, ""),
        (True, StreamEnd.BROKEN, False, ""),
        (True, StreamEnd.STALLED, False, ""),
        (True, StreamEnd.WRONG_INSTANCE, False, ""),
    ],
)
def test_course_is_finished_by_a_clean_end_after_the_container_ended(
    ended: bool, end: StreamEnd, finished: bool, missing: str
) -> None:
    """Only a stream that was opened after the container had ended can show the log's end."""
    made = state(ended=ended)
    made.stop(end, progress=False)
    assert (finished, missing) == (made.finished, made.missing)


def test_course_looks_again_when_the_container_ended_meanwhile() -> None:
    """The stream was opened while it ran: its end may have been a cut. At once, once more."""
    made = state()
    made.ended = True
    assert 0 == made.stop(StreamEnd.CLEAN, progress=True)
    assert not made.finished
    assert made.start()
    made.stop(StreamEnd.CLEAN, progress=False)
    assert made.finished


def test_course_without_follow_is_finished_by_any_clean_end() -> None:
    """A dump does not wait for the container."""
    made = TailState(ended=False, follow=False)
    made.start()
    made.stop(StreamEnd.CLEAN, progress=True)
    assert made.finished


@pytest.mark.parametrize(
    ("opened", "end", "missing"),
    [
        (True, StreamEnd.CLEAN, ""),
        (True, StreamEnd.BROKEN, "gone before its end was read"),
        (False, StreamEnd.REFUSED, "gone before it was read"),
    ],
)
def test_course_of_a_deleted_pod_is_finished_by_any_end(
    opened: bool, end: StreamEnd, missing: str
) -> None:
    """Nothing can be opened again; what is missing is told."""
    made = state()
    made.opened = opened
    made.deleted = True
    made.stop(end, progress=False)
    assert (True, missing) == (made.finished, made.missing)


def test_course_deleted_while_it_paused_opens_nothing() -> None:
    """A pod of the same name may be another pod by then."""
    made = state()
    made.stop(StreamEnd.CLEAN, progress=True)
    made.deleted = True
    assert not made.start()
    assert (True, "") == (made.finished, made.missing)


def test_course_pauses_longer_with_every_failure_and_recovers() -> None:
    """Doubling up to half a minute; a stream that brought lines starts over."""
    made = state()
    pauses = [made.stop(StreamEnd.BROKEN, progress=False) for _ in range(12)]
    assert sorted(pauses) == pauses
    assert MAX_PAUSE_SECONDS == pauses[-1]
    assert made.stop(StreamEnd.BROKEN, progress=True) < pauses[0]


def test_course_is_more_patient_with_every_look_since_the_last_line() -> None:
    """Doubling up to four hours, with no pause before the log is opened again."""
    made = state()
    assert IDLE_TIMEOUT_SECONDS == made.idle_timeout(progress=True)
    for probes in range(1, 9):
        assert 0 == made.stop(StreamEnd.STALLED, progress=probes == 1)
        assert min(IDLE_TIMEOUT_SECONDS * 2**probes, MAX_IDLE_TIMEOUT_SECONDS) == made.idle_timeout(
            progress=False
        )
    made.stop(StreamEnd.CLEAN, progress=True)
    assert IDLE_TIMEOUT_SECONDS == made.idle_timeout(progress=False)


def test_course_gives_up_an_ended_container_that_is_refused() -> None:
    """kubelet does not have the log any more: said with its words, after a few tries."""
    made = state(ended=True)
    for _ in range(MAX_REFUSALS - 1):
        made.stop(StreamEnd.REFUSED, progress=False, why="no")
        assert not made.finished
    made.stop(StreamEnd.REFUSED, progress=False, why="container not found")
    assert (True, "container not found") == (made.finished, made.missing)
