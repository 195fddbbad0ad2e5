"""Following one job to its end: the watch of the job, the watch of its pods, the clock.

What happens is decided from the state that the watches hold, in `_settle`, after every change.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from dlf.diagnose import image_pulls as pulls
from dlf.diagnose.pod_state import ended, words
from dlf.diagnose.roles import replicas
from dlf.diagnose.start_reasons import Starting
from dlf.frameworks import job_state
from dlf.job import finishing
from dlf.job.ending import End, Ending
from dlf.job.pods import Pods
from dlf.job.progress import Progress
from dlf.job.remove import stays
from dlf.job.resilient_watch import watch
from dlf.job.timers import Timers
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Change, Snapshot
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Pod
from dlf.manifest.phase import JobState, Phase

_SILENCE = 60.0  # seconds after which an operator that wrote no condition is worth a word
_LOOK = 4.0  # seconds that a normal start takes; then it is asked what is in the way
_TELL = 5.0  # seconds after which that is told
_REFRESH = 10.0  # seconds for the last look at the pods


class Follower:
    """The state of one job and its pods, kept up to date until the job ends.

    Args:
        client: of the cluster.
        kind: of the job.
        job: as it was created or found.
        lead: role whose pod 0 decides when it succeeds, or "".
        logs: told of every pod.
        say: told what the user should know.
        detail: told what only `--verbose` shows.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: JobKind,
        job: Job,
        *,
        lead: str,
        logs: Multiplexer,
        say: Callable[[str], None],
        detail: Callable[[str], None],
    ) -> None:
        self.job = job
        self.pods = Pods(replicas(job), logs)
        self._client = client
        self._kind = kind
        self._lead = lead
        self._say = say
        self._starting = Starting(client, kind, job, self._settle, detail)
        self._told_waiting: frozenset[str] = frozenset()
        self._progress = Progress(self._tell_pods)
        self._unknown: set[str] = set()
        self._ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._pods_changed = asyncio.Event()
        self._pods_listed = asyncio.Event()
        self._timers = Timers()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Follower":
        client, meta = self._client, self.job.metadata
        field = f"metadata.name={meta.name}"
        job = watch(client, self._kind, meta.namespace, Job, self._on_job, field_selector=field)
        _ = self._start(job)
        self._watching_pods = self._start(self._watch_pods())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._timers.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._starting.aclose()

    async def end(self, *, start_timeout: float, timeout: float) -> Ending:
        """Wait for the end of the job, or for a time limit (seconds; 0 is none).

        Raises:
            Rejected, ClusterLost: a watch cannot go on.
        """
        self._timers.start("silence", _SILENCE, self._silent)
        if start_timeout:
            self._timers.start("start timeout", start_timeout, self._start_expired)
        if timeout:
            self._timers.start("timeout", timeout, self._expired)
        try:
            return await self._ending
        finally:
            self._timers.stop()
            self._starting.rest()
            self._tell_pods()

    async def refresh(self) -> None:
        """Look at the pods once more: their watch may lag behind the job's, which told the end.

        By a new watch, which begins with a list: what the old one still had to say is older.
        """
        self._watching_pods.cancel()
        await asyncio.wait({self._watching_pods})
        self._pods_listed.clear()
        self._watching_pods = self._start(self._watch_pods())
        with suppress(TimeoutError):
            async with asyncio.timeout(_REFRESH):
                await self._pods_listed.wait()

    async def until_stopping(self) -> None:
        """Wait until every pod has ended or is being deleted."""
        while stays(self.pods.here.values()):
            self._pods_changed.clear()
            await self._pods_changed.wait()

    def _watch_pods(self) -> Coroutine[Any, Any, None]:
        meta = self.job.metadata
        label = f"{self._kind.job_label}={meta.name}"
        return watch(self._client, POD, meta.namespace, Pod, self._on_pods, label_selector=label)

    def _start(self, watching: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Watch in a task; what ends that ends all."""

        async def guarded() -> None:
            try:
                await watching
            except Exception as error:
                if not self._ending.done():
                    self._ending.set_exception(error)
            finally:
                self._pods_listed.set()  # nobody is to wait for more

        task = asyncio.create_task(guarded())
        self._tasks.append(task)
        return task

    def _finish(self, end: End, why: str = "", found: JobState | None = None) -> None:
        if not self._ending.done():
            lead = self._lead_succeeded()
            self._ending.set_result(Ending(end, found or job_state(self.job), why, lead))

    def _on_job(self, step: Snapshot[Job] | Change[Job]) -> None:
        job = step.object if isinstance(step, Change) else next(iter(step.items), None)
        if job is None:
            self._finish(End.DELETED)
            return
        if job.metadata.uid != self.job.metadata.uid:
            self._finish(End.DELETED, "another one has its name now")
            return
        before, now = job_state(self.job), job_state(job)
        self.job = job
        for unknown in set(now.unknown) - self._unknown:
            self._unknown.add(unknown)
            self._say(f"the job's status has an unknown `{unknown}`")
        if now.phase is not before.phase and not now.phase.final:
            self._say(f"{self._kind.name} {job.metadata.name} is {now.phase.value}")
        self._settle()
        # The operators leave a job alone that is being deleted; its result will never be written.
        # The state that it had at last is in the event of its deletion.
        if job.metadata.deletion_timestamp or (isinstance(step, Change) and step.type == "DELETED"):
            self._finish(End.DELETED)

    def _on_pods(self, step: Snapshot[Pod] | Change[Pod]) -> None:
        now = asyncio.get_running_loop().time()
        for pod in self.pods.apply(step):
            name = pod.metadata.name
            if name in self.pods.here:
                self._starting.pulls.observe(pod, now)
                if pod.status.phase != "Pending":
                    self._progress.note(name, words(pod))
            else:
                self._starting.pulls.forget(name)
                if not ended(pod):
                    self._progress.note(name, "deleted")
        self._pods_changed.set()
        if isinstance(step, Snapshot):
            self._pods_listed.set()
        self._settle()

    def _settle(self) -> None:
        """Decide from the state as it is now."""
        if self._ending.done():
            return
        phase = job_state(self.job).phase
        reasons = self._starting
        now = asyncio.get_running_loop().time()
        if phase.final or self._lead_succeeded():
            self._finish(End.FINAL)
        elif lost := reasons.pulls.hopeless(now):
            self._finish(End.HOPELESS, lost)
        elif phase is Phase.SUBMITTED and reasons.warnings.refusal:
            self._finish(End.HOPELESS, f"the operator refuses it: {reasons.warnings.refusal}")
        else:
            if reasons.pulls.refused:
                self._timers.start("pulls", pulls.GRACE + 1, self._settle)
            if phase is Phase.FINISHING:
                self._timers.start("finishing", finishing.PATIENCE, self._give_up_finishing)
            else:
                self._timers.stop("finishing")
            self._wait()

    def _wait(self) -> None:
        """Tell what is in the way of pods that do not start, when that takes longer than usual."""
        if self.pods.waiting:
            self._timers.start("look", _LOOK, self._starting.watch)
            self._timers.start("tell", _TELL, self._tell_waiting)
        else:
            self._told_waiting = frozenset()
            self._timers.stop("look", "tell")
            self._starting.rest()

    def _lead_succeeded(self) -> bool:
        """The lead's success is the job's; its failure is left to the operator's policies."""
        if not self._lead:
            return False
        lead = self.pods.here.get(f"{self.job.metadata.name}-{self._lead}-0")
        return lead is not None and lead.status.phase == "Succeeded"

    def _waiting(self) -> str:
        waiting = self._starting.why(list(self.pods.here.values()), self.pods.total)
        return waiting.sentence if waiting else self._count()

    def _start_expired(self) -> None:
        if len(self.pods.started) < self.pods.total:
            self._finish(End.START_TIMEOUT, self._waiting())

    def _expired(self) -> None:
        self._finish(End.TIMEOUT, self._waiting())

    def _give_up_finishing(self) -> None:
        pods = [(self.pods.identify(pod), ended(pod)) for pod in self.pods.here.values()]
        if found := finishing.foregone(self.job, pods):
            self._finish(End.FINAL, found=found)
        else:
            self._settle()

    def _silent(self) -> None:
        if job_state(self.job).phase is Phase.SUBMITTED and not self.pods.here:
            said = self._starting.warnings.beside(set())
            events = "; ".join(said) or "it wrote no event either"
            self._say(f"the operator has not reacted to the job: {events}")

    def _tell_waiting(self) -> None:
        waiting = self._starting.why(list(self.pods.here.values()), self.pods.total)
        if waiting and waiting.causes != self._told_waiting:
            self._told_waiting = waiting.causes
            self._say(waiting.sentence)

    def _tell_pods(self) -> None:
        for line in self._progress.take(self._count()):
            self._say(line)

    def _count(self) -> str:
        return f"{len(self.pods.running())} of {self.pods.total} running"
