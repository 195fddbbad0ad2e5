"""How long each phase of a job took, from the times in its own and its pods' objects.

Kubernetes writes whole seconds. A phase ends when it has ended for the last pod.
"""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from dlf.manifest.meta import parse_time
from dlf.manifest.observed import Job, Pod
from dlf.task.scalars import format_duration


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of each phase; None where the objects do not tell.

    Attributes:
        queue_seconds: from the job's creation until every pod had a node.
        pull_seconds: from there until the images of every pod were there, init containers included.
        start_seconds: from there until every pod ran; image pulls included where `pull_seconds` is
            None.
        run_seconds: from there until the last container had ended.
        pods: how many have run.
        peak_pods: how many ran at the same time at most.
        restarts: of all containers.
    """

    queue_seconds: int | None = None
    pull_seconds: int | None = None
    start_seconds: int | None = None
    run_seconds: int | None = None
    pods: int = 0
    peak_pods: int = 0
    restarts: int = 0

    def words(self) -> str:
        """`queued 12s, pulled in 30s, started in 4s, ran 1h2m; 3 pods, 1 restart`, or ""."""
        phases = [
            f"{words} {format_duration(seconds)}"
            for words, seconds in (
                ("queued", self.queue_seconds),
                ("pulled in", self.pull_seconds),
                ("started in", self.start_seconds),
                ("ran", self.run_seconds),
            )
            if seconds is not None
        ]
        if not phases:
            return ""
        peak = f" (at most {self.peak_pods} at once)" if self.peak_pods < self.pods else ""
        counts = f"{_count(self.pods, 'pod')}{peak}, {_count(self.restarts, 'restart')}"
        return f"{', '.join(phases)}; {counts}"


def timeline(
    job: Job, pods: Iterable[Pod], pulled: Mapping[str, Collection[datetime.datetime]]
) -> Timeline:
    """The timeline of a job that has ended.

    Args:
        job: its last known state.
        pods: theirs.
        pulled: uid of a pod to when images of it were there.
    """
    pods = list(pods)
    created = parse_time(job.metadata.creation_timestamp)
    scheduled = _last(_scheduled(pod) for pod in pods)
    started = [min(times) for pod in pods if (times := list(_times(pod, "started_at")))]
    running = max(started, default=None) if len(started) == len(pods) else None
    there = _last(_images_there(pod, pulled.get(pod.metadata.uid, ())) for pod in pods)
    ended = max((time for pod in pods for time in _times(pod, "finished_at")), default=None)
    statuses = [each for pod in pods for each in pod.status.container_statuses or ()]
    return Timeline(
        queue_seconds=_between(created, scheduled),
        pull_seconds=_between(scheduled, there),
        start_seconds=_between(there or scheduled, running),
        run_seconds=_between(running, ended),
        pods=len(started),
        peak_pods=_peak(pods),
        restarts=sum(each.restart_count for each in statuses),
    )


def _images_there(pod: Pod, times: Collection[datetime.datetime]) -> datetime.datetime | None:
    """When the pod's first container had its image. Later pulls are of others, or of restarts."""
    started = min(_times(pod, "started_at"), default=None)
    return max((time for time in times if started and time <= started), default=None)


def _peak(pods: Iterable[Pod]) -> int:
    """How many ran at once at most: one that starts in the second in which another ends may."""
    changes: list[tuple[datetime.datetime, int]] = []
    for pod in pods:
        started = min(_times(pod, "started_at"), default=None)
        if not started:
            continue
        changes.append((started, 1))
        if pod.status.phase in {"Succeeded", "Failed"}:
            changes.append((max(_times(pod, "finished_at"), default=started), -1))
    running = peak = 0
    for _, change in sorted(changes, key=lambda each: (each[0], -each[1])):  # starts first
        running += change
        peak = max(peak, running)
    return peak


def _scheduled(pod: Pod) -> datetime.datetime | None:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "True":
            return parse_time(condition.last_transition_time or "")
    return None


def _times(pod: Pod, attribute: str) -> Iterator[datetime.datetime]:
    for status in pod.status.container_statuses or ():
        for state in (status.state, status.last_state):
            for part in (state.running, state.terminated):
                time = parse_time(getattr(part, attribute, None) or "")
                if time:
                    yield time


def _last(times: Iterable[datetime.datetime | None]) -> datetime.datetime | None:
    """The last of them; None if one is not known, or there is none."""
    known = list(times)
    return None if None in known else max(filter(None, known), default=None)


def _between(first: datetime.datetime | None, second: datetime.datetime | None) -> int | None:
    """Whole seconds; clocks of nodes differ, so never less than 0."""
    return max(round((second - first).total_seconds()), 0) if first and second else None


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
