"""Prints what runs on this machine have printed, and follows those that go on."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence

from dlf.local.console import Console
from dlf.local.recorded_log import LogReader
from dlf.local.run_record import ContainerInstance, RecordedPod
from dlf.local.stored_runs import Launcher, StoredRun
from dlf.logs.lines import LineBuffer
from dlf.logs.log_end import EndBudget, LogEnd
from dlf.logs.log_options import LogOptions

POLL_SECONDS = 0.2
"""Seconds between two looks at files that may have grown."""


class RecordedLogs:
    """The logs of some runs, as one stream.

    Args:
        runs: whose logs.
        console: prints them; it is closed at the end.
        options: which lines; `follow` goes on until the last run has ended.
        notify: prints a line of dlf's own.
    """

    def __init__(
        self,
        runs: Sequence[StoredRun],
        console: Console,
        options: LogOptions,
        notify: Callable[[str], None],
    ) -> None:
        self._runs = runs
        self._console = console
        self._options = options
        self._notify = notify

    async def print(self) -> None:
        """Print them all."""
        tasks = [asyncio.create_task(self._console.tick())]
        for run in self._runs:
            if self._options.follow and run.launcher is Launcher.ELSEWHERE and not run.history.end:
                host = run.history.header.place.host
                self._notify(f"{run.name} was started on {host}: its log cannot be followed here")
            elif self._options.follow:
                tasks.append(asyncio.create_task(_keep_fresh(run)))
        try:
            async with asyncio.TaskGroup() as printing:
                for run in self._runs:
                    for pod in run.history.header.pods:
                        if self._options.reads(pod.container):
                            printing.create_task(self._pod(run, pod))
            await self._console.finish()
            for run in self._runs:
                if run.launcher is Launcher.GONE and not run.history.end:
                    self._notify(f"{run.name} has no result: its dlf was killed")
        finally:
            for task in tasks:
                task.cancel()
            self._console.close()

    async def _pod(self, run: StoredRun, pod: RecordedPod) -> None:
        """The logs of a pod, one start of its container after the other."""
        instances = run.history.instances[pod.pod]
        if self._options.previous:
            for instance in instances[-2:-1]:
                await self._instance(run, pod, instance)
            return
        printed = 0
        while True:
            is_last_look = run.is_over or not self._options.follow
            while printed < len(instances):
                await self._instance(run, pod, instances[printed])
                printed += 1
            if is_last_look:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _instance(
        self, run: StoredRun, pod: RecordedPod, instance: ContainerInstance
    ) -> None:
        instances = run.history.instances[pod.pod]

        def is_complete() -> bool:
            """Whether nothing more is written; only the next start says so of one before it."""
            return not self._options.follow or run.is_over or instance is not instances[-1]

        target = run.history.target(pod, instance.started)
        log = run.log(target)
        output = self._output(log, target.name, is_complete)
        await self._console.copy(target, output, LogEnd(EndBudget()), has_times=True)
        log.close()

    async def _output(
        self, log: LogReader, name: str, is_complete: Callable[[], bool]
    ) -> AsyncGenerator[bytes, None]:
        """What is there, or its last lines, and what comes until it is complete."""
        if self._options.tail is not None:
            yield _last_lines(log, self._options.tail)
            log.has_gap = False
        while True:
            no_more = is_complete()
            if chunk := log.read():
                if log.has_gap:
                    log.has_gap = False
                    self._notify(f"{name}: the log is long, and lines before these are not kept")
                yield chunk
                await asyncio.sleep(0)  # other pods get their turn
            elif no_more:
                return
            else:
                await asyncio.sleep(POLL_SECONDS)


def _last_lines(log: LogReader, number: int) -> bytes:
    """The last lines of what is there, and the beginning of one that is being written."""
    last: deque[bytes] = deque(maxlen=number)
    lines = LineBuffer()
    while chunk := log.read():
        if block := lines.feed(chunk):
            last.extend(block[:-1].split(b"\n"))
    return b"".join(line + b"\n" for line in last) + lines.flush()


async def _keep_fresh(run: StoredRun) -> None:
    while not run.is_over:
        await asyncio.sleep(POLL_SECONDS)
        run.refresh()
