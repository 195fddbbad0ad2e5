"""The pods of one job: those that exist, and the last state of those that were deleted."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from dlf.diagnose.pod_state import (
    disruption,
    has_ended,
    has_started,
    not_started,
    since_first_deletion,
)
from dlf.diagnose.roles import PodIdentity, Roles
from dlf.diagnose.server_clock import ServerClock
from dlf.diagnose.training_containers import (
    training_ended,
    training_statuses,
    training_succeeded,
)
from dlf.job.evicted_pods import with_eviction
from dlf.kube.reflector import Change, Snapshot
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import ContainerStatus, Event, Pod

REMEMBERED_DISRUPTIONS = 100
"""Disrupted pods that are remembered after another pod took their name."""


class Pods:
    """Kept up to date by `apply`, which also hands every pod to the logs.

    Args:
        roles: of the job.
        logs: gets every pod.

    Attributes:
        roles: of the job.
        here: the pods that exist, by name.
        gone: deleted pods as last seen, by name, until a pod of the same name exists again.
        started: names of the pods that have run at some time.
        not_started: names of the pods that have not started, or are being deleted and hold up
            those that replace them.
        training: by role, names of the pods in which a training container has not ended.
        kept: by role, names of the pods whose training has ended, and that others keep.
        disrupted: pods that the cluster removed, as last seen; other pods have their names now.
        seen_failing: uid to the cluster's time when our watch first saw that the pod had ended or
            was being removed; for what carries no time itself.
    """

    def __init__(self, roles: Roles, logs: Multiplexer) -> None:
        self.here: dict[str, Pod] = {}
        self.gone: dict[str, Pod] = {}
        self.started: set[str] = set()
        self.not_started: set[str] = set()
        self.training: defaultdict[str, set[str]] = defaultdict(set)
        self.kept: defaultdict[str, set[str]] = defaultdict(set)
        self.disrupted: list[Pod] = []
        self.seen_failing: dict[str, str] = {}
        self.roles = roles
        self._clock = ServerClock()
        self._logs = logs

    def __iter__(self) -> Iterator[Pod]:
        """All of them, deleted ones included."""
        yield from self.here.values()
        yield from self.gone.values()

    @property
    def total(self) -> int:
        """How many pods the job should have."""
        return self.roles.pods

    def apply(self, step: Snapshot[Pod] | Change[Pod], now: float = 0.0) -> list[Pod]:
        """Apply a list or a change that came at `now`; returns the pods concerned, as last seen."""
        match step:
            case Snapshot(items):
                missing = self.here.keys() - {pod.metadata.name for pod in items}
                gone = [self._forget(self.here[name]) for name in sorted(missing)]
                return gone + [self._observe(pod, now) for pod in items]
            case Change("DELETED", pod):
                return [self._forget(pod)]
            case Change(_, pod):
                return [self._observe(pod, now)]

    def mark_evicted(self, evictions: Mapping[str, Event]) -> None:
        """Mark those that were evicted, and whose status does not say so; `evictions`: by uid."""
        for known in (self.here, self.gone):
            for name, pod in known.items():
                known[name] = with_eviction(pod, evictions.get(pod.metadata.uid))

    def identify(self, pod: Pod) -> PodIdentity:
        """Role and rank of a pod of this job."""
        return self.roles.identify(pod)

    @property
    def waiting(self) -> bool:
        """Whether any pod has not started or does not exist."""
        return bool(self.not_started) or len(self.here) < self.total

    @property
    def all_started(self) -> bool:
        """Whether every pod has run at some time."""
        return len(self.started) >= self.total

    def running(self) -> list[Pod]:
        """The pods in phase Running."""
        return [pod for pod in self.here.values() if pod.status.phase == "Running"]

    def count_states(self) -> dict[str, int]:
        """State in words to number of pods, those that work first."""
        counts = dict.fromkeys(("running", "pending", "succeeded", "failed"), 0)
        for pod in self.here.values():
            is_leaving = pod.metadata.deletion_timestamp and not has_ended(pod)
            state = "being deleted" if is_leaving else pod.status.phase.lower()
            counts[state] = counts.get(state, 0) + 1
        return counts | {"not created": max(self.total - len(self.here), 0)}

    def all_succeeded(self) -> bool:
        """Whether every pod of the job had succeeded of its own accord when it was last seen."""
        pods = list(self)
        return len(pods) >= self.total > 0 and all(map(self.succeeded, pods))

    def succeeded(self, pod: Pod) -> bool:
        """Whether the pod is in phase Succeeded, and its training ended of its own accord."""
        return pod.status.phase == "Succeeded" and training_succeeded(pod, self.statuses(pod))

    def statuses(self, pod: Pod) -> list[ContainerStatus]:
        """The statuses of the pod's training containers."""
        return training_statuses(pod, self.identify(pod), self.roles.containers)

    def _observe(self, pod: Pod, now: float) -> Pod:
        name = pod.metadata.name
        before = self.here.get(name) or self.gone.get(name)
        pod = since_first_deletion(pod, before)
        if before and before.metadata.uid != pod.metadata.uid and disruption(before):
            self.disrupted = [*self.disrupted, before][-REMEMBERED_DISRUPTIONS:]
        self._clock.observe(pod, now)
        if has_ended(pod) or disruption(pod):
            self.seen_failing.setdefault(pod.metadata.uid, self._clock.time(now))
        self.here[name] = pod
        self.gone.pop(name, None)
        if has_started(pod):
            self.started.add(name)
        if not_started(pod):
            self.not_started.add(name)
        else:
            self.not_started.discard(name)
        identity = self.identify(pod)
        statuses = training_statuses(pod, identity, self.roles.containers)
        is_over = training_ended(pod, statuses)
        _keep(self.training[identity.role], name, is_in=not is_over)
        _keep(self.kept[identity.role], name, is_in=is_over and not has_ended(pod))
        self._logs.observe(pod, identity.role, identity.rank, self.roles.ranks)
        return pod

    def _forget(self, pod: Pod) -> Pod:
        """The event of a deletion carries the pod's last state, often for the first time."""
        name = pod.metadata.name
        pod = since_first_deletion(pod, self.here.pop(name, None))
        self.not_started.discard(name)
        role = self.identify(pod).role
        self.training[role].discard(name)
        self.kept[role].discard(name)
        self.gone[name] = pod
        self._logs.pod_deleted(name)
        return pod


def _keep(names: set[str], name: str, *, is_in: bool) -> None:
    if is_in:
        names.add(name)
    else:
        names.discard(name)
