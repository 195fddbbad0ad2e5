"""How long the phases of a job took."""

from typing import Any

import msgspec
import pytest

from dlf.manifest.observed import Job, Pod
from dlf.outcome.timeline import Timeline, timeline

CREATED = {"metadata": {"name": "job", "creationTimestamp": "2026-01-02T03:00:00Z"}}


def at(minute: int, second: int = 0) -> str:
    return f"2026-01-02T03:{minute:02}:{second:02}Z"


def pod(scheduled: str = "", started: str = "", finished: str = "", **status: Any) -> Pod:
    """A pod of one container, as far as its times are given."""
    state: dict[str, Any] = {"running": {"startedAt": started}} if started else {"waiting": {}}
    if finished:
        state = {"terminated": {"startedAt": started, "finishedAt": finished}}
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}]
    content = {
        "metadata": {"name": "p"},
        "status": {
            "conditions": conditions if scheduled else [],
            "containerStatuses": [{"name": "c", "state": state, **status}],
        },
    }
    return msgspec.convert(content, Pod)


@pytest.mark.parametrize(
    ("pods", "expected", "words"),
    [
        ([], Timeline(), ""),
        ([pod()], Timeline(), ""),
        (
            [pod(at(0, 12), at(1), at(9)), pod(at(0, 5), at(2), at(5))],
            Timeline(queue_seconds=12, start_seconds=108, run_seconds=420, pods=2),
            "queued 12s, started in 1m48s, ran 7m; 2 pods, 0 restarts",
        ),
        (
            [pod(at(0, 12), at(1)), pod(at(3))],
            Timeline(queue_seconds=180, pods=1),
            "queued 3m; 1 pod, 0 restarts",
        ),
        (
            [
                pod(
                    at(0, 1),
                    at(5),
                    at(6),
                    restartCount=1,
                    lastState={"terminated": {"startedAt": at(1), "finishedAt": at(2)}},
                )
            ],
            Timeline(queue_seconds=1, start_seconds=59, run_seconds=300, pods=1, restarts=1),
            "queued 1s, started in 59s, ran 5m; 1 pod, 1 restart",
        ),
        (
            [pod(at(0, 2), at(0, 1), at(0, 4))],
            Timeline(queue_seconds=2, start_seconds=0, run_seconds=3, pods=1),
            "queued 2s, started in 0s, ran 3s; 1 pod, 0 restarts",
        ),
    ],
)
def test_phase_ends_when_it_has_ended_for_the_last_pod(
    pods: list[Pod], expected: Timeline, words: str
) -> None:
    """What the objects do not tell is left out; clocks that differ make no negative time."""
    found = timeline(msgspec.convert(CREATED, Job), pods)
    assert (expected, words) == (found, found.words())
