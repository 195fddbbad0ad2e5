"""One start of the whole job: all its processes, until its operator would call it over."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from dlf.local.console import Console
from dlf.local.container import Container
from dlf.local.keeper import Keeper
from dlf.local.plan import Plan
from dlf.local.process import Process
from dlf.local.rules import decide
from dlf.logs.log_end import EndBudget, LogEnd
from dlf.logs.target import Target

GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL; and for the last output, when dlf has to end."""

DRAIN = 30.0
"""Seconds that pods get to end by themselves when the job has succeeded."""


class End(msgspec.Struct, frozen=True):
    """The end of a pod: its exit code, and when that was (RFC 3339, UTC)."""

    process: Process
    code: int
    finished_at: str


class Attempt:
    """Runs the processes of a plan once.

    Args:
        plan: of the job.
        environments: the whole environment of each process, by pod.
        directory: where they run; "" for the current one.
        guard: kills what is left.
        console: prints what they print.
        say: told what the user should know.

    Attributes:
        succeeded: what the operator would say of the job; None before it can.
        ends: of the pods that ended by themselves, in the order of time.
        last: the last lines of each pod, by name.
        stopped: pods that still ran when it was over, and were stopped.
    """

    def __init__(
        self,
        plan: Plan,
        environments: Mapping[str, Mapping[str, str]],
        directory: str,
        guard: Keeper,
        console: Console,
        say: Callable[[str], None],
    ) -> None:
        self.succeeded: bool | None = None
        self.ends: list[End] = []
        budget = EndBudget()
        self.last = {process.pod: LogEnd(budget) for process in plan.processes}
        self.stopped: list[str] = []
        self._plan = plan
        self._environments = environments
        self._directory = directory
        self._guard = guard
        self._console = console
        self._say = say
        self._restarts = plan.rules.restarts
        self._running: dict[str, Container] = {}
        self._stopping = False
        self._news: asyncio.Queue[Exception | None] = asyncio.Queue()
        self._copies: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Run the job until it has succeeded or failed.

        Whatever ends it, all its processes have ended when this returns or raises. Their output
        was printed; only when this is cancelled, a reader that does not read is not waited for.

        Raises:
            UsageError: a program or directory is not there.
            BrokenPipeError: the reader of standard output has gone.
        """
        pods = [asyncio.create_task(self._pod(process)) for process in self._plan.processes]
        try:
            self.succeeded = await self._decision()
            if self.succeeded:
                await asyncio.wait(pods, timeout=DRAIN)
            await self._stop(pods)
            await asyncio.wait(pods)
        except BaseException:
            await self._stop(pods)
            await asyncio.wait(pods, timeout=GRACE)
            for task in (*pods, *self._copies):
                task.cancel()
            raise

    async def _decision(self) -> bool:
        while True:
            error = await self._news.get()
            if error:
                raise error
            codes = {end.process.pod: end.code for end in self.ends}
            decided = decide(self._plan.rules, codes, len(self._plan.processes))
            if decided is not None:
                return decided

    async def _stop(self, pods: list[asyncio.Task[None]]) -> None:
        """SIGTERM, and SIGKILL for what is left."""
        self._stopping = True
        self.stopped = list(self._running)
        for container in self._running.values():
            container.send_signal(signal.SIGTERM)
        await asyncio.wait(pods, timeout=GRACE)
        while self._running:
            await asyncio.to_thread(self._guard.kill)
            await asyncio.wait(pods, timeout=GRACE)

    async def _pod(self, process: Process) -> None:
        """Run a pod to its end, with its restarts."""
        restart = 0
        try:
            while not self._stopping and await self._container(process, restart):
                restart += 1
        except Exception as error:
            self._news.put_nowait(error)

    async def _container(self, process: Process, restart: int) -> bool:
        """Run one container; return whether to start it again."""
        environment = self._environments[process.pod]
        container = await Container.start(process, environment, self._directory, self._guard)
        self._running[process.pod] = container
        if self._stopping:  # it was being started when the others were stopped
            container.send_signal(signal.SIGKILL)
        target = Target(
            pod=process.pod,
            container=process.container,
            instance=str(restart),
            role=process.role,
            rank=process.rank,
            restart=restart,
        )
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

    def _ended(self, process: Process, code: int) -> bool:
        """Note the end of a container; return whether to start it again."""
        if self._stopping:
            return False
        if code and self._restarts > 0:
            self._restarts -= 1
            self._say(f"pod {process.pod} failed with exit code {code} and is restarted")
            return True
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self.ends.append(End(process, code, now))
        words = f"failed with exit code {code}" if code else "succeeded"
        self._say(f"pod {process.pod} {words} ({len(self._running)} still running)")
        self._news.put_nowait(None)
        return False

    def _copied(self, copying: asyncio.Task[None]) -> None:
        if not copying.cancelled() and isinstance(error := copying.exception(), Exception):
            self._news.put_nowait(error)
