"""Of failures that came together, those whose logs mark a victim stand behind."""

import pytest

from dlf.diagnose.first_cause import victims_last
from dlf.outcome.evidence import Evidence
from dlf.outcome.outcome import PodFailure

LOST = Evidence(error="RuntimeError: Connection closed by peer", is_victim=True)
OWN = Evidence(error="ValueError: no data")


def failure(
    pod: str, second: int | None, evidence: Evidence = OWN, code: int = 1, reason: str = "Error"
) -> PodFailure:
    """That ended so many seconds after a full hour, or at a time that nobody knows."""
    time = "" if second is None else f"2026-12-03T05:{second // 60:02}:{second % 60:02}Z"
    return PodFailure(pod=pod, exit_code=code, evidence=evidence, finished_at=time, reason=reason)


def order(*failures: PodFailure) -> list[str]:
    return [each.pod for each in victims_last(failures)]


def test_victim_whose_container_ended_before_that_of_the_cause() -> None:
    """The cause's launcher gave its other processes half a minute to end."""
    assert order(failure("a", 0, LOST), failure("b", 2, LOST), failure("c", 40)) == ["c", "a", "b"]


def test_error_that_comes_later_is_another_one() -> None:
    """After the window, time alone decides."""
    assert order(failure("a", 0, LOST), failure("b", 46)) == ["a", "b"]


def test_causes_stay_in_the_order_of_time() -> None:
    """So do victims, and all of them if there is no cause."""
    assert order(failure("a", 0), failure("b", 1, LOST), failure("c", 2)) == ["a", "c", "b"]
    assert order(failure("a", 0, LOST), failure("b", 1, LOST)) == ["a", "b"]


@pytest.mark.parametrize("code", [134, 143, 241, 250])
def test_silent_end_by_sigabrt_or_sigterm_marks_a_victim(code: int) -> None:
    """As a shell says it, and as paddle's launcher does: 250 is 256 - 6."""
    silent = failure("a", 0, Evidence(), code)

    assert order(silent, failure("b", 1)) == ["b", "a"]
    assert order(failure("a", 0, OWN, code), failure("b", 1)) == ["a", "b"]


@pytest.mark.parametrize("code", [137, 139, 247])
def test_silent_end_by_sigkill_or_sigsegv_marks_none(code: int) -> None:
    """So end processes that are out of memory or broken."""
    assert order(failure("a", 0, Evidence(), code), failure("b", 1)) == ["a", "b"]


def test_reason_of_the_cluster_outweighs_the_log() -> None:
    """A pod that is evicted loses its peers, too."""
    evicted = failure("a", 0, LOST, 137, "Evicted")

    assert order(evicted, failure("b", 1)) == ["a", "b"]


def test_unknown_times_are_left_where_they_are() -> None:
    """Nothing tells that they came together."""
    assert order(failure("a", 0, LOST), failure("b", None)) == ["a", "b"]
    assert order() == []
