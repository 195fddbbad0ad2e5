"""How long the phases of a job took."""

import datetime
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
        "metadata": {"name": "p", "uid": f"uid-{scheduled}"},
        "status": {
            "phase": "Succeeded" if finished else "Running" if started else "Pending",
            "conditions": conditions if scheduled else [],
            "containerStatuses": [{"name": "c", "state": state, **status}],
        },
    }
    return msgspec.convert(content, Pod)


def of(*pods: Pod, pulled: list[list[str]] | None = None) -> Timeline:
    """The timeline; `pulled` has the times of the images of each pod."""
    times = {
        pod.metadata.uid: {datetime.datetime.fromisoformat(each) for each in own}
        for pod, own in zip(pods, pulled or [], strict=False)
    }
    return timeline(msgspec.convert(CREATED, Job), pods, times)


@pytest.mark.parametrize(
    ("pods", "expected", "words"),
    [
        ([], Timeline(), ""),
        ([pod()], Timeline(), ""),
        (
            [pod(at(0, 12), at(1), at(9)), pod(at(0, 5), at(2), at(5))],
            Timeline(queue_seconds=12, start_seconds=108, run_seconds=420, pods=2, peak_pods=2),
            "queued 12s, started in 1m48s, ran 7m; 2 pods, 0 restarts",
        ),
        (
            [pod(at(0, 12), at(1)), pod(at(3))],
            Timeline(queue_seconds=180, pods=1, peak_pods=1),
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
            Timeline(
                queue_seconds=1,
                start_seconds=59,
                run_seconds=300,
                pods=1,
                peak_pods=1,
                restarts=1,
            ),
            "queued 1s, started in 59s, ran 5m; 1 pod, 1 restart",
        ),
        (
            [pod(at(0, 2), at(0, 1), at(0, 4))],
            Timeline(queue_seconds=2, start_seconds=0, run_seconds=3, pods=1, peak_pods=1),
            "queued 2s, started in 0s, ran 3s; 1 pod, 0 restarts",
        ),
    ],
)
def test_phase_ends_when_it_has_ended_for_the_last_pod(
    pods: list[Pod], expected: Timeline, words: str
) -> None:
    """What the objects do not tell is left out; clocks that differ make no negative time."""
    found = of(*pods)
    assert (expected, words) == (found, found.words())


@pytest.mark.parametrize(
    ("pulled", "phases"),
    [
        ([[at(0, 40)], [at(0, 10)]], "queued 12s, pulled in 28s, started in 1m20s, ran 7m"),
        (
            [[at(0, 20), at(0, 30)], [at(1, 30)]],
            "queued 12s, pulled in 1m18s, started in 30s, ran 7m",
        ),
        ([[at(0, 40), at(3)], [at(0, 10)]], "queued 12s, pulled in 28s, started in 1m20s, ran 7m"),
        ([[at(0, 40)], []], "queued 12s, started in 1m48s, ran 7m"),
        ([[at(0, 40)]], "queued 12s, started in 1m48s, ran 7m"),
        ([[at(0, 2)], [at(0, 3)]], "queued 12s, pulled in 0s, started in 1m57s, ran 7m"),
    ],
    ids=["each one", "init containers", "after a restart", "not told", "pod not told", "early"],
)
def test_pull_ends_with_the_last_image_before_the_start(
    pulled: list[list[str]], phases: str
) -> None:
    """Of the last pod; unknown while it is unknown for one."""
    found = of(pod(at(0, 12), at(1), at(9)), pod(at(0, 5), at(2), at(5)), pulled=pulled)
    assert f"{phases}; 2 pods, 0 restarts" == found.words()


@pytest.mark.parametrize(
    ("spans", "peak"),
    [
        ([(1, 5), (2, 4), (3, 6)], 3),
        ([(1, 2), (3, 4), (5, 6)], 1),
        ([(1, 2), (2, 3), (3, 4)], 2),
        ([(1, 4), (2, 3), (3, 5), (6, 7)], 3),
        ([(1, 4), (2, 3), (4, 5), (6, 7)], 2),
        ([(1, 1), (1, 1)], 2),
        ([(1, None), (5, None), (7, 8)], 3),
        ([], 0),
    ],
)
def test_peak_counts_pods_that_run_at_once(spans: list[tuple[int, int | None]], peak: int) -> None:
    """Pods that have not ended run on. Times are whole seconds: in the same one may be at once."""
    found = of(*(pod(at(0), at(start), at(end) if end else "") for start, end in spans))
    assert (peak, len(spans)) == (found.peak_pods, found.pods)
    assert ("at once" in found.words()) is (peak < len(spans))
