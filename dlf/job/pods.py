"""The pods of one job: those there are, and how those ended that are gone."""

from collections.abc import Iterator, Mapping

from dlf.diagnose.pod_state import is_late, started
from dlf.diagnose.roles import Identity, identify
from dlf.kube.reflector import Change, Snapshot
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import Pod


class Pods:
    """Kept up to date by `apply`, which shows every pod to the logs, too.

    Args:
        counts: replicas of each role, in the order of ranks.
        logs: told of every pod.

    Attributes:
        here: the pods that there are, by name.
        gone: those that are not there any more, as last seen; a pod of the same name replaces it.
        started: names of the pods that have run at some time.
        late: names of the pods that have not started, or are in the way of those that take their
            place.
    """

    def __init__(self, counts: Mapping[str, int], logs: Multiplexer) -> None:
        self.here: dict[str, Pod] = {}
        self.gone: dict[str, Pod] = {}
        self.started: set[str] = set()
        self.late: set[str] = set()
        self._counts = dict(counts)
        self._logs = logs

    def __iter__(self) -> Iterator[Pod]:
        """All of them, also the gone."""
        yield from self.here.values()
        yield from self.gone.values()

    @property
    def total(self) -> int:
        """How many there are when all are there."""
        return sum(self._counts.values())

    def apply(self, step: Snapshot[Pod] | Change[Pod]) -> list[Pod]:
        """Take note of a list or change; the pods that it is about, as they were last seen."""
        match step:
            case Snapshot(items):
                missing = self.here.keys() - {pod.metadata.name for pod in items}
                gone = [self._forget(self.here[name]) for name in sorted(missing)]
                return gone + [self._observe(pod) for pod in items]
            case Change("DELETED", pod):
                return [self._forget(pod)]
            case Change(_, pod):
                return [self._observe(pod)]

    def identify(self, pod: Pod) -> Identity:
        """Role and rank of a pod of this job."""
        return identify(pod, self._counts)

    @property
    def waiting(self) -> bool:
        """Whether any pod is late or not there."""
        return bool(self.late) or len(self.here) < self.total

    def running(self) -> list[Pod]:
        """The pods that still run."""
        return [pod for pod in self.here.values() if pod.status.phase == "Running"]

    def all_succeeded(self) -> bool:
        """Whether every pod of the job was last seen as Succeeded."""
        phases = [pod.status.phase for pod in self]
        return len(phases) >= self.total > 0 and set(phases) == {"Succeeded"}

    def _observe(self, pod: Pod) -> Pod:
        name = pod.metadata.name
        self.here[name] = pod
        self.gone.pop(name, None)
        if started(pod):
            self.started.add(name)
        if is_late(pod):
            self.late.add(name)
        else:
            self.late.discard(name)
        who = self.identify(pod)
        self._logs.observe(pod, who.role, who.rank)
        return pod

    def _forget(self, pod: Pod) -> Pod:
        """A deletion tells the pod's last state, and may be the only one to tell it."""
        name = pod.metadata.name
        self.here.pop(name, None)
        self.late.discard(name)
        self.gone[name] = pod
        self._logs.pod_deleted(name)
        return pod
