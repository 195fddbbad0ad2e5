"""Following one job to its end: the watch of the job, the watch of its pods, the clock.

What happens is decided from the state that the watches hold, in `_settle`, after every change.
"""

import asyncio
import enum
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import msgspec

from dlf.errors import DlfError, Rejected
from dlf.frameworks.phase import Phase, Verdict, verdict
from dlf.job.pending import hopeless, why
from dlf.job.pod_state import ended, words
from dlf.job.roles import Identity, identify, replicas
from dlf.kube.client import KubeClient
from dlf.kube.follow import Change, Snapshot, follow
from dlf.logs.mux import Multiplexer
from dlf.manifest.kinds import EVENT, POD, Kind
from dlf.manifest.observed import Event, Job, Pod

_SILENCE = 60.0  # seconds after which an operator that wrote no condition is worth a word
_PATIENCE = 5.0  # seconds that a normal start takes; what is still waited for then is said


class End(enum.Enum):
    """Why following ended."""

    FINAL = "final"
    DELETED = "deleted"
    HOPELESS = "hopeless"
    START_TIMEOUT = "start timeout"
    TIMEOUT = "timeout"


class Ending(msgspec.Struct, frozen=True):
    """How following ended.

    Attributes:
        end: why.
        verdict: the job's own state at that time.
        why: what was being waited for, or why it is hopeless.
        lead: the success of the lead pod decided, whatever the job's own state.
    """

    end: End
    verdict: Verdict
    why: str = ""
    lead: bool = False


class Follower:
    """The state of one job and its pods, kept up to date until the job ends.

    Args:
        client: of the cluster.
        kind: of the job.
        job: as it was created or found.
        lead: role whose pod 0 decides when it succeeds, or "".
        logs: told of every pod.
        say: told what the user should know.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        job: Job,
        *,
        lead: str,
        logs: Multiplexer,
        say: Callable[[str], None],
    ) -> None:
        self.job = job
        self.pods: dict[str, Pod] = {}
        self.ended_pods: dict[str, Pod] = {}  # deleted since, as last seen
        self._client = client
        self._kind = kind
        self._lead = lead
        self._logs = logs
        self._say = say
        self._counts = replicas(job)
        self._warnings: dict[str, Event] = {}
        self._told: dict[str, str] = {}
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._patience: asyncio.TimerHandle | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Follower":
        self._start(self._watch_job())
        self._start(self._watch_pods())
        self._start(self._watch_warnings(), optional=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._patience:
            self._patience.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self, *, start_timeout: float, timeout: float) -> Ending:
        """Wait for the end of the job, or for a time limit (seconds; 0 is none).

        Raises:
            Rejected, ClusterLost: a watch cannot go on.
        """
        loop = asyncio.get_running_loop()
        clocks = [loop.call_later(_SILENCE, self._silent)]
        if start_timeout:
            clocks.append(loop.call_later(start_timeout, self._start_expired))
        if timeout:
            clocks.append(loop.call_later(timeout, self._expired))
        try:
            return await self._ending
        finally:
            for clock in clocks:
                clock.cancel()

    def identify(self, pod: Pod) -> Identity:
        """Role and rank of a pod of this job."""
        return identify(pod, self._counts)

    @property
    def total(self) -> int:
        """How many pods the job has when all are there."""
        return sum(self._counts.values())

    def running(self) -> list[Pod]:
        """The pods that still run."""
        return [pod for pod in self.pods.values() if pod.status.phase == "Running"]

    def _start(self, work: Coroutine[Any, Any, None], *, optional: bool = False) -> None:
        async def guarded() -> None:
            try:
                await work
            except Rejected as error:
                if not optional:
                    self._fail(error)
            except DlfError as error:
                self._fail(error)

        self._tasks.append(asyncio.create_task(guarded()))

    def _fail(self, error: Exception) -> None:
        if not self._ending.done():
            self._ending.set_exception(error)

    def _finish(self, end: End, why: str = "") -> None:
        if not self._ending.done():
            lead = self._lead_succeeded()
            self._ending.set_result(Ending(end, verdict(self.job), why, lead))

    async def _watch_job(self) -> None:
        meta = self.job.metadata
        async for event in follow(
            self._client,
            self._kind,
            meta.namespace,
            Job,
            field_selector=f"metadata.name={meta.name}",
        ):
            match event:
                case Snapshot(items):
                    self._on_job(items[0] if items else None)
                case Change("DELETED", _):
                    self._on_job(None)
                case Change(_, job):
                    self._on_job(job)

    async def _watch_pods(self) -> None:
        meta = self.job.metadata
        async for event in follow(
            self._client,
            POD,
            meta.namespace,
            Pod,
            label_selector=f"{self._kind.job_label}={meta.name}",
        ):
            match event:
                case Snapshot(items):
                    for name in self.pods.keys() - {pod.metadata.name for pod in items}:
                        self._forget(name)
                    for pod in items:
                        self._on_pod(pod)
                case Change("DELETED", pod):
                    self._forget(pod.metadata.name)
                case Change(_, pod):
                    self._on_pod(pod)
            self._settle()

    async def _watch_warnings(self) -> None:
        """Warning events of this job's objects, as long as it has not started."""
        name = self.job.metadata.name
        namespace = self.job.metadata.namespace
        warnings = follow(self._client, EVENT, namespace, Event, field_selector="type=Warning")
        async with aclosing(warnings) as steps:
            async for step in steps:
                events = step.items if isinstance(step, Snapshot) else [step.object]
                for event in events:
                    if event.involved_object.name.startswith(name):
                        self._warnings[event.involved_object.name] = event
                self._settle()
                if self.pods and not self._waiting():
                    return

    def _on_job(self, job: Job | None) -> None:
        if job is None or job.metadata.uid != self.job.metadata.uid:
            self._finish(End.DELETED)
            return
        before, now = verdict(self.job), verdict(job)
        self.job = job
        for unknown in now.unknown:
            self._tell("unknown " + unknown, f"the job's status has an unknown `{unknown}`")
        if now.phase is not before.phase and not now.phase.final:
            self._say(f"{job.kind} {job.metadata.name} is {now.phase.value}")
        self._settle()

    def _on_pod(self, pod: Pod) -> None:
        name = pod.metadata.name
        self.pods[name] = pod
        self.ended_pods.pop(name, None)
        who = self.identify(pod)
        self._logs.observe(pod, who.role, who.rank)
        if pod.status.phase != "Pending":
            self._tell(name, f"pod {name} {words(pod)}", f" ({self._count()})")

    def _forget(self, name: str) -> None:
        pod = self.pods.pop(name, None)
        if pod and ended(pod):
            self.ended_pods[name] = pod
        self._logs.forget(name)
        if not self._ending.done():
            self._tell(name, f"pod {name} was deleted")

    def _settle(self) -> None:
        """Decide from the state as it is now."""
        if verdict(self.job).phase.final or self._lead_succeeded():
            self._finish(End.FINAL)
        elif lost := hopeless(self.pods.values()):
            pod, reason = lost
            self._finish(End.HOPELESS, f"pod {pod.metadata.name} can never start: {reason}")
        elif not self._patience and self._waiting() != self._told.get("waiting", ""):
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(_PATIENCE, self._tell_waiting)

    def _lead_succeeded(self) -> bool:
        """The lead's success is the job's; its failure is left to the operator's policies."""
        if not self._lead:
            return False
        lead = self.pods.get(f"{self.job.metadata.name}-{self._lead}-0")
        return lead is not None and lead.status.phase == "Succeeded"

    def _waiting(self) -> str:
        return why(list(self.pods.values()), self.total, self._warnings)

    def _start_expired(self) -> None:
        if waiting := self._waiting():
            self._finish(End.START_TIMEOUT, waiting)

    def _expired(self) -> None:
        self._finish(End.TIMEOUT, self._waiting() or self._count())

    def _silent(self) -> None:
        if verdict(self.job).phase is Phase.SUBMITTED and not self.pods:
            events = self._waiting() if self._warnings else "it wrote no event either"
            self._say(f"the operator has not reacted to the job: {events}")

    def _tell_waiting(self) -> None:
        self._patience = None
        if not self._ending.done():
            self._tell("waiting", self._waiting())

    def _count(self) -> str:
        return f"{len(self.running())} of {self.total} running"

    def _tell(self, topic: str, text: str, more: str = "") -> None:
        """Say it when it differs from what was last said on this topic."""
        if text and self._told.get(topic) != text:
            self._told[topic] = text
            self._say(text + more)
