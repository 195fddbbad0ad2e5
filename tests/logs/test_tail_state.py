"""When to open a log again, and when it is at its end."""

import pytest

from dlf.logs.tail_state import (
    IDLE_TIMEOUT_SECONDS,
    MAX_IDLE_TIMEOUT_SECONDS,
    MAX_PAUSE_SECONDS,
    MAX_REFUSALS,
    POLL_PAUSE_SECONDS,
    POLLS_PER_FOLLOW,
    StreamEnd,
    TailState,
)


def tail(**facts: bool) -> TailState:
    made = TailState(**{"terminated": False} | facts)
    made.start_stream()
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
def test_tail_is_finished_by_a_clean_end_after_the_container_ended(
    ended: bool, end: StreamEnd, finished: bool, missing: str
) -> None:
    """Only a stream that was opened after the container had ended can show the log's end."""
    made = tail(terminated=ended)
    made.end_stream(end, progress=False)
    assert (finished, missing) == (made.finished, made.missing)


def test_tail_reads_once_more_when_the_container_ended_meanwhile() -> None:
    """The stream was opened while it ran: its end may have been a cut. At once, once more."""
    made = tail()
    made.terminated = True
    assert 0 == made.end_stream(StreamEnd.CLEAN, progress=True)
    assert not made.finished
    assert made.start_stream()
    made.end_stream(StreamEnd.CLEAN, progress=False)
    assert made.finished


def test_tail_without_follow_is_finished_by_any_clean_end() -> None:
    """A dump does not wait for the container."""
    made = TailState(terminated=False, follow=False)
    made.start_stream()
    made.end_stream(StreamEnd.CLEAN, progress=True)
    assert made.finished


@pytest.mark.parametrize(
    ("opened", "end", "missing"),
    [
        (True, StreamEnd.CLEAN, ""),
        (True, StreamEnd.BROKEN, "gone before its end was read"),
        (False, StreamEnd.REFUSED, "gone before it was read"),
    ],
)
def test_tail_of_a_deleted_pod_is_finished_by_any_end(
    opened: bool, end: StreamEnd, missing: str
) -> None:
    """Nothing can be opened again; what is missing is told."""
    made = tail()
    made.opened = opened
    made.deleted = True
    made.end_stream(end, progress=False)
    assert (True, missing) == (made.finished, made.missing)


def test_tail_deleted_while_it_paused_opens_nothing() -> None:
    """A pod of the same name may be another pod by then."""
    made = tail()
    made.end_stream(StreamEnd.CLEAN, progress=True)
    made.deleted = True
    assert not made.start_stream()
    assert (True, "") == (made.finished, made.missing)


def test_tail_pauses_longer_with_every_failure_and_recovers() -> None:
    """Doubling up to half a minute; a stream that brought lines starts over."""
    made = tail()
    pauses = [made.end_stream(StreamEnd.BROKEN, progress=False) for _ in range(12)]
    assert sorted(pauses) == pauses
    assert MAX_PAUSE_SECONDS == pauses[-1]
    assert made.end_stream(StreamEnd.BROKEN, progress=True) < pauses[0]


def test_tail_idle_timeout_doubles_with_every_probe_since_the_last_line() -> None:
    """Doubling up to four hours, with no pause before the log is opened again."""
    made = tail()
    assert IDLE_TIMEOUT_SECONDS == made.idle_timeout(progress=True)
    for probes in range(1, 9):
        assert 0 == made.end_stream(StreamEnd.STALLED, progress=probes == 1)
        assert min(IDLE_TIMEOUT_SECONDS * 2**probes, MAX_IDLE_TIMEOUT_SECONDS) == made.idle_timeout(
            progress=False
        )
    made.end_stream(StreamEnd.CLEAN, progress=True)
    assert IDLE_TIMEOUT_SECONDS == made.idle_timeout(progress=False)


def test_tail_gives_up_an_ended_container_that_is_refused() -> None:
    """kubelet does not have the log any more: said with its words, after a few tries."""
    made = tail(terminated=True)
    for _ in range(MAX_REFUSALS - 1):
        made.end_stream(StreamEnd.REFUSED, progress=False, error="no")
        assert not made.finished
    made.end_stream(StreamEnd.REFUSED, progress=False, error="container not found")
    assert (True, "container not found") == (made.finished, made.missing)


def test_tail_polls_a_log_that_cannot_be_followed() -> None:
    """Plain requests, quickly while they bring lines; following is tried again after twenty."""
    made = tail()
    assert POLL_PAUSE_SECONDS == made.end_stream(StreamEnd.NODE_ERROR, progress=True)
    pauses = []
    for number in range(POLLS_PER_FOLLOW):
        assert (True, False) == (made.start_stream(), made.follows)
        pauses.append(made.end_stream(StreamEnd.CLEAN, progress=number < 3))
    assert [2.0, 2.0, 2.0, 4.0, 8.0, 16.0, 30.0] == pauses[:7]
    assert (True, True) == (made.start_stream(), made.follows)


def test_tail_gives_up_an_ended_container_that_its_node_cannot_read() -> None:
    """An error in place of the log is no end of the log; its words are the reason."""
    made = tail(terminated=True)
    for _ in range(MAX_REFUSALS):
        assert not made.finished
        made.end_stream(StreamEnd.NODE_ERROR, progress=False, error="unable to retrieve")
    assert (True, "unable to retrieve") == (made.finished, made.missing)
