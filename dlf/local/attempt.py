"""One attempt of the whole job: all its processes, until its operator would end it."""

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from dlf.diagnose.log_evidence import find_evidence
from dlf.local.console import Console
from dlf.local.container import ContainerProcess
from dlf.local.job import LocalJob
from dlf.local.process import PodProcess
from dlf.local.reaper import Reaper
from dlf.local.recorder import Recorder
from dlf.local.rules import has_succeeded
from dlf.local.run_record import now
from dlf.logs.instances import Target
from dlf.logs.log_end import EndBudget, LogEnd

KILL_GRACE_SECONDS = 3.0
"""Seconds between SIGTERM and SIGKILL; and for the last output, when dlf has to end."""

SETTLE_SECONDS = 1.0
"""Seconds after a success in which a failure still fails the job. Kubelet looks at its pods once a
second and an operator decides from what it sees then, so the order of ends within a second has no
meaning; a rule that depended on it would give another result each time."""

DRAIN_SECONDS, IDLE_SECONDS = 30.0, 5.0
"""Seconds that pods get to end by themselves when the job has succeeded, and how long of that they
may be silent: what dlf does on Kubernetes before it stops the pods of such a job."""

CAUSE_SECONDS = 10.0
"""Seconds that pods get to end by themselves when the first that failed had only lost a peer.

The launcher of that peer may be slower to end: torchrun looks at its processes every 5 seconds.
"""


class PodEnd(msgspec.Struct, frozen=True):
    """The end of a pod: its exit code, and when that was (RFC 3339, UTC)."""

    process: PodProcess
    code: int
    finished_at: str


class Attempt:
    """Runs the processes of a job once.

    Args:
        job: what to run.
        environments: the whole environment of each process, by pod.
        directory: where they run; "" for the current one.
        reaper: kills what SIGTERM did not end.
        console: prints what they print.
        recorder: is told of starts and ends.
        notify: prints a line of dlf's own.
        number: how many attempts came before.

    Attributes:
        succeeded: what the operator would say of the job; None before it can.
        ends: of the pods that ended by themselves, in the order of time.
        last: the last lines of each pod, by name.
        stopped: pods that still ran when it was over, and were stopped.
    """

    def __init__(
        self,
        job: LocalJob,
        environments: Mapping[str, Mapping[str, str]],
        directory: str,
        reaper: Reaper,
        console: Console,
        recorder: Recorder,
        notify: Callable[[str], None],
        number: int,
    ) -> None:
        self.succeeded: bool | None = None
        self.ends: list[PodEnd] = []
        budget = EndBudget()
        self.last = {process.pod: LogEnd(budget) for process in job.processes}
        self.stopped: list[str] = []
        self._job = job
        self._ranks = sum(process.rank is not None for process in job.processes)
        self._environments = environments
        self._directory = directory
        self._reaper = reaper
        self._console = console
        self._recorder = recorder
        self._number = number
        self._notify = notify
        self._restarts = job.rules.restarts
        self._running: dict[str, ContainerProcess] = {}
        self._stopping = False
        self._events: asyncio.Queue[Exception | None] = asyncio.Queue()
        self._copies: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Run the job until it has succeeded or failed.

        Whatever ends it, all its processes have ended when this returns or raises. Their output
        was printed; only when this is cancelled, a reader that does not read is not waited for.

        Raises:
            UsageError: a program or directory is not there.
        """
        pods = [asyncio.create_task(self._pod(process)) for process in self._job.processes]
        try:
            self.succeeded = await self._decision()
            if not self.succeeded:
                if await self._all_are_victims(pods):
                    await asyncio.wait(pods, timeout=CAUSE_SECONDS)
            elif not self._job.rules.stops_remaining_pods:
                await self._drain(pods)
            await self._stop(pods)
            await asyncio.wait(pods)
            if self.succeeded and self._job.rules.stops_remaining_pods:
                self.stopped = []  # as the manifest has it
        except BaseException:
            await self._stop(pods)
            await asyncio.wait(pods, timeout=KILL_GRACE_SECONDS)
            for task in (*pods, *self._copies):
                task.cancel()
            raise

    def count_states(self) -> dict[str, int]:
        """State in words to number of pods."""
        failed = sum(bool(end.code) for end in self.ends)
        succeeded = len(self.ends) - failed
        return {"running": len(self._running), "succeeded": succeeded, "failed": failed}

    async def _drain(self, pods: list[asyncio.Task[None]]) -> None:
        """Wait for pods that go on after the job's success, while they print."""
        began = time.monotonic()
        going_on = set(pods)
        while going_on:
            silent_since = max(began, self._console.last_chunk_at)
            left = min(silent_since + IDLE_SECONDS, began + DRAIN_SECONDS) - time.monotonic()
            if left <= 0:
                return
            _, going_on = await asyncio.wait(going_on, timeout=left)

    async def _decision(self) -> bool:
        """What the operator decides: a success only if no failure comes within a second of it."""
        number = len(self._job.processes)
        while True:
            await self._next_event()
            decided = self._decided()
            if decided:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SETTLE_SECONDS):
                        while self._decided() and len(self.ends) < number:
                            await self._next_event()
                return self._decided() is True
            if decided is False:
                return False

    async def _next_event(self) -> None:
        if error := await self._events.get():
            raise error

    def _decided(self) -> bool | None:
        codes = {end.process.pod: end.code for end in self.ends}
        return has_succeeded(self._job.rules, codes, len(self._job.processes))

    async def _all_are_victims(self, pods: list[asyncio.Task[None]]) -> bool:
        """Whether the pods that failed only lost a peer, so that the cause is in another pod."""
        failed = {end.process.pod for end in self.ends if end.code}
        names = (process.pod for process in self._job.processes)
        ended = [task for name, task in zip(names, pods, strict=True) if name in failed]
        await asyncio.wait(ended, timeout=KILL_GRACE_SECONDS)  # for their last lines
        return all(find_evidence(self.last[pod].lines()).is_victim for pod in failed)

    async def _stop(self, pods: list[asyncio.Task[None]]) -> None:
        """SIGTERM, and SIGKILL for what is left."""
        self._stopping = True
        self.stopped = list(self._running)
        for container in self._running.values():
            container.send_signal(signal.SIGTERM)
        await asyncio.wait(pods, timeout=KILL_GRACE_SECONDS)
        while self._running:
            await asyncio.to_thread(self._reaper.kill)
            await asyncio.wait(pods, timeout=KILL_GRACE_SECONDS)

    async def _pod(self, process: PodProcess) -> None:
        """Run a pod to its end, with its restarts."""
        restart = 0
        try:
            while not self._stopping and await self._container(process, restart):
                restart += 1
        except Exception as error:
            self._events.put_nowait(error)

    async def _container(self, process: PodProcess, restart: int) -> bool:
        """Run one container; return whether to start it again."""
        environment = self._environments[process.pod]
        container = await ContainerProcess.start(
            process, environment, self._directory, self._reaper
        )
        self._running[process.pod] = container
        if self._stopping:  # it was being started when the others were stopped
            container.send_signal(signal.SIGKILL)
        target = Target(
            pod=process.pod,
            container=process.container,
            instance=f"{self._number}.{restart}",
            role=process.role,
            rank=process.rank,
            ranks=self._ranks,
            restart=restart,
            generation=self._number,
        )
        self._recorder.container_started(target, container.pid)
        copying = asyncio.create_task(
            self._console.copy(target, container.output(), self.last[process.pod])
        )
        self._copies.append(copying)
        copying.add_done_callback(self._copied)
        code = await container.wait()
        del self._running[process.pod]
        again = self._ended(process, code)
        await container.clear()
        await asyncio.wait({copying})
        return again

    def _ended(self, process: PodProcess, code: int) -> bool:
        """Note the end of a container; return whether to start it again."""
        ended_at = now()
        self._recorder.container_ended(process.pod, code, ended_at, stopped=self._stopping)
        if self._stopping:
            return False
        if code and self._restarts > 0:
            self._restarts -= 1
            self._notify(f"pod {process.pod} failed with exit code {code} and is restarted")
            return True
        self.ends.append(PodEnd(process, code, ended_at))
        words = f"failed with exit code {code}" if code else "succeeded"
        self._notify(f"pod {process.pod} {words} ({len(self._running)} still running)")
        self._events.put_nowait(None)
        return False

    def _copied(self, copying: asyncio.Task[None]) -> None:
        if not copying.cancelled() and isinstance(error := copying.exception(), Exception):
            self._events.put_nowait(error)
