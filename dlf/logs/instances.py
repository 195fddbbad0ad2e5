"""Which logs a pod has, as a pure function of its status, and how each is labelled.

A container keeps its name over restarts; each start is an instance with an ID and a log of its
own. kubelet serves two of them: the current one, and with `previous` the one before it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from dlf.manifest.observed import ContainerStatus, Pod, Running, Terminated


class Target(msgspec.Struct, frozen=True):
    """One container instance and what its lines are labelled with.

    Attributes:
        pod: name of the pod.
        container: name of the container.
        instance: containerID; with pod and container it is the identity of the log, since a
            restarted container keeps its name.
        role: role of the pod in the job, such as `worker`, or "".
        rank: global rank, or None where the role has none.
        ranks: how many ranks its job has; 0 when unknown.
        restart: how many instances of this container came before.
        order: how many pods of the job were seen before: pods get their colours in turn.
        generation: how many pods of this name came before.
        namespace: of the pod.
        uid: of the pod.
        unseen: this many instances, up to this one, came and went unseen; 0 for one that was seen.
    """

    pod: str
    container: str
    instance: str
    role: str = ""
    rank: int | None = None
    ranks: int = 0
    restart: int = 0
    order: int = 0
    generation: int = 0
    namespace: str = ""
    uid: str = ""
    unseen: int = 0

    @property
    def name(self) -> str:
        """`POD/CONTAINER`, and which instance it is if not the first of that name; for messages."""
        facts = []
        if self.generation:
            times = f" {self.generation} times" if self.generation > 1 else ""
            facts.append(f"created again{times}")
        if self.unseen > 1:
            first = self.restart - self.unseen + 1
            facts.append(f"each of restarts {first} to {self.restart}")
        elif self.restart:
            facts.append(f"restart {self.restart}")
        return f"{self.pod}/{self.container}" + (f" ({', '.join(facts)})" if facts else "")


class Instance(msgspec.Struct, frozen=True):
    """One container instance that has, or had, a log; or several in a row that nobody saw.

    Attributes:
        container: its name.
        id: containerID; or pod UID and restart count where a runtime tells no ID.
        restart: how many instances came before.
        ended: the process has ended, so its log is complete.
        previous: a newer instance took its place; its log is asked for as `previous`.
        started: when its process was started, RFC 3339 with whole seconds; "" where that is not
            known.
        ended_at: when its process ended, in the same form.
        unseen: as in `Target`.
    """

    container: str
    id: str
    restart: int
    ended: bool
    previous: bool = False
    started: str = ""
    ended_at: str = ""
    unseen: int = 0


def instances(pod: Pod) -> list[Instance]:
    """The instances whose logs can be read, init containers first, older before newer."""
    found: list[Instance] = []
    for status in (
        *(pod.status.init_container_statuses or ()),
        *(pod.status.container_statuses or ()),
    ):
        found += _of_container(status, pod.metadata.uid)
    return found


def _of_container(status: ContainerStatus, uid: str) -> list[Instance]:
    state, before = status.state, status.last_state.terminated
    count = status.restart_count

    def instance(
        ident: str | None, restart: int, of: Running | Terminated, **facts: bool
    ) -> Instance:
        return Instance(
            status.name,
            ident or f"{uid}#{restart}",
            restart,
            started=of.started_at or "",
            ended_at=(of.finished_at or "") if isinstance(of, Terminated) else "",
            **facts,
        )

    found = []
    started = state.running is not None or (
        state.terminated is not None
        and bool(state.terminated.container_id or state.terminated.started_at)
    )
    if before is not None and before.container_id:
        # While the next start is waited for, the ended instance is still the current one.
        replaced = started
        restart = max(0, count - 1) if replaced else count
        found.append(instance(before.container_id, restart, before, ended=True, previous=replaced))
    if state.running is not None:
        found.append(instance(status.container_id, count, state.running, ended=False))
    elif started and state.terminated is not None:
        ident = state.terminated.container_id or status.container_id
        found.append(instance(ident, count, state.terminated, ended=True))
    return found


def with_unseen(found: Iterable[Instance], seen: int, uid: str) -> list[Instance]:
    """Put those that must have come and gone before each instance in front of it, as one.

    The restart count says how many there were: a look at the pod may miss some, as after a watch
    that was away.

    Args:
        found: of one container, older before newer.
        seen: the restart count that follows those that were seen before.
        uid: of the pod.
    """
    complete = []
    for each in found:
        if unseen := max(0, each.restart - seen):
            last = each.restart - 1
            ident = f"{uid}#{last}"
            complete.append(Instance(each.container, ident, last, ended=True, unseen=unseen))
        complete.append(each)
        seen = each.restart + 1
    return complete


class SeenPod(NamedTuple):
    """What is known of a pod when its status is seen.

    Attributes:
        is_new: it was not seen before.
        order: how many names of pods were seen before its name.
        generation: how many pods of its name were seen before it.
    """

    is_new: bool
    order: int
    generation: int


class PodHistory:
    """The pods of a job, by when they were seen first."""

    def __init__(self) -> None:
        self._orders: dict[str, int] = {}  # by name
        self._uids: dict[str, list[str]] = {}  # by name: of all pods that had it, oldest first

    def see(self, name: str, uid: str) -> SeenPod:
        """A pod's status is seen."""
        order = self._orders.setdefault(name, len(self._orders))
        uids = self._uids.setdefault(name, [])
        is_new = uid not in uids
        if is_new:
            uids.append(uid)
        return SeenPod(is_new, order, uids.index(uid))
