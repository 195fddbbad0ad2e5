"""What is kept of a run on this machine: what it is, and what has happened to its pods. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from dlf.local.process_identity import Place, ProcessIdentity
from dlf.logs.instances import Target


def now() -> str:
    """The time, RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _check_time(text: str) -> None:
    """Raise ValueError for what is no time with a zone: others are compared with it."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("the time has no zone")


class RecordedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod of the run; see `dlf.local.process.PodProcess`."""

    pod: str
    role: str
    rank: int | None
    container: str


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run when it begins.

    Attributes:
        name: of the job.
        kind: title of its kind.
        task: the task's name or id, or "".
        created: RFC 3339, UTC.
        place: where the process numbers are valid.
        launcher: the dlf that runs it.
        mark: text in the environment of all its processes, see `dlf.local.reaper`.
        scratch: the run's directory of temporary files.
        pods: in the order of ranks.
    """

    name: str
    kind: str
    task: str
    created: str
    place: Place
    launcher: ProcessIdentity
    mark: Annotated[str, msgspec.Meta(min_length=8)]  # an empty one is in every environment
    scratch: str
    pods: list[RecordedPod]

    def __post_init__(self) -> None:
        """Raise ValueError for a header that is damaged."""
        _check_time(self.created)


class ContainerStarted(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """A pod's container was started; `generation` counts the attempts of the whole job."""

    pod: str
    restart: int
    generation: int
    process: ProcessIdentity
    time: str


class ContainerEnded(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The container of a pod that was started last has ended with this exit code.

    `stopped`: not by itself, but since the job was over.
    """

    pod: str
    code: int
    stopped: bool
    time: str


class RunEnded(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """The run is over.

    Attributes:
        state: `succeeded`, `failed` or `stopped`.
        reason: in words, or "".
        time: RFC 3339, UTC.
    """

    state: str
    reason: str
    time: str

    def __post_init__(self) -> None:
        """Raise ValueError for an event that is damaged."""
        _check_time(self.time)


RunEvent = ContainerStarted | ContainerEnded | RunEnded


class ContainerInstance(msgspec.Struct):
    """One start of a pod's container, and its end if that has come."""

    started: ContainerStarted
    ended: ContainerEnded | None = None


class RunHistory:
    """A run as its events tell it.

    Attributes:
        header: what the run is.
        instances: of each pod's container, oldest first.
        end: of the run; None while it goes on, and if its dlf was killed.
    """

    def __init__(self, header: RunHeader, events: Iterable[RunEvent] = ()) -> None:
        self.header = header
        self.instances: dict[str, list[ContainerInstance]] = {each.pod: [] for each in header.pods}
        self.end: RunEnded | None = None
        for event in events:
            self.apply(event)

    @property
    def ranks(self) -> int:
        """How many pods have a rank."""
        return sum(each.rank is not None for each in self.header.pods)

    def apply(self, event: RunEvent) -> None:
        """Take the next event."""
        match event:
            case ContainerStarted(pod=pod):
                self.instances.setdefault(pod, []).append(ContainerInstance(event))
            case ContainerEnded(pod=pod):
                if started := self.instances.get(pod):
                    started[-1].ended = event
            case RunEnded():
                self.end = event

    def open_instances(self) -> dict[str, ContainerStarted]:
        """By pod, the start of the container of which no end is known."""
        last = {pod: instances[-1] for pod, instances in self.instances.items() if instances}
        return {pod: each.started for pod, each in last.items() if not each.ended}

    def target(self, pod: RecordedPod, started: ContainerStarted) -> Target:
        """How the lines of one start of a pod's container are labelled."""
        return Target(
            pod=pod.pod,
            container=pod.container,
            instance=f"{started.generation}.{started.restart}",
            role=pod.role,
            rank=pod.rank,
            ranks=self.ranks,
            restart=started.restart,
            generation=started.generation,
        )
