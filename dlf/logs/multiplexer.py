"""All logs of one job or several as one stream: one tail per container instance.

Longer than other files: whatever starts, stops or waits for tails needs all of them.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import inf

from dlf.logs.collapse import Collapser
from dlf.logs.format import formatter
from dlf.logs.instances import Instance, PodHistory, Target, instances
from dlf.logs.log_context import LogContext
from dlf.logs.log_files import LogFiles
from dlf.logs.log_options import LogOptions
from dlf.logs.ownership import ContainerLogs, InstanceLog
from dlf.logs.renderer import LineRenderer
from dlf.logs.source import LogSource
from dlf.logs.stalls import StallProber
from dlf.logs.tail import Tail
from dlf.logs.tail_state import StreamEnd, TailState
from dlf.logs.timestamps import split
from dlf.logs.writer import OutputClosed, Writer
from dlf.manifest.observed import Pod

SWEEP_INTERVAL_SECONDS = 1.0
"""Seconds between checks for stalled streams, repeated lines and unfinished ones."""
DRAIN_IDLE_SECONDS = 5.0
"""Seconds of silence after which a container that goes on running does not hold up `drain`."""
_DOUBT = "perhaps gone before it was read; what was printed may be a later restart's log"
_DOUBT_AFTER_GAP = (
    "perhaps gone before its end was read; what was printed since may be a later restart's log"
)


class Multiplexer:
    """Follows the logs of the pods it is shown.

    Args:
        source: opens logs.
        writer: takes what is printed.
        options: what to print and how.
        notify: takes messages for the reader of the logs: restarts, gaps, losses.

    Attributes:
        unread: logs that were gone before anything of them was read, in words.
        incomplete: logs whose end was not read, each with the reason.

    Raises:
        UsageError: `log_dir` cannot be created.
    """

    def __init__(
        self,
        source: LogSource,
        writer: Writer,
        options: LogOptions,
        notify: Callable[[str], None],
    ) -> None:
        self._context = LogContext(source, writer, options, notify)
        self._files = LogFiles(options.log_dir, notify) if options.log_dir else None
        self._collapser = Collapser() if options.log_collapse else None
        # By pod and container: by names, as these are what a log is asked for by.
        self._logs: dict[str, dict[str, ContainerLogs]] = {}
        self._pods = PodHistory()
        self._tails: dict[InstanceLog, Tail] = {}
        self._tails_by_task: dict[asyncio.Task[None], Tail] = {}
        self._prober = StallProber()
        self._sweeper: asyncio.Task[None] | None = None
        self._bug: BaseException | None = None
        self.unread: list[str] = []
        self.incomplete: list[str] = []

    def observe(self, pod: Pod, role: str, rank: int | None, ranks: int = 0) -> None:
        """A pod was listed, added or changed: start what it has, note what has ended.

        Args:
            pod: as it is now; all pods are of one namespace.
            role: of the pod in its job.
            rank: of the pod, or None.
            ranks: how many its job has; 0 when unknown.
        """
        meta, options = pod.metadata, self._context.options
        containers = self._logs.setdefault(meta.name, {})
        seen = self._pods.see(meta.name, meta.uid)
        if seen.is_new and seen.generation:
            self._context.notify(
                f"{meta.name}: created again (uid {meta.uid}), its logs begin anew"
            )
        current: dict[str, list[Instance]] = {container: [] for container in containers}
        for instance in instances(pod):
            if options.reads(instance.container) and (instance.previous or not options.previous):
                current.setdefault(instance.container, []).append(instance)
        for container, found in current.items():
            logs = containers.setdefault(container, ContainerLogs(self._context.end_budget))
            observed = logs.observe(meta.uid, found)
            for log in observed.dropped:
                self._tails.pop(log, None)
            self._wake(observed.changed)
            for instance in observed.new:
                target = Target(
                    pod=meta.name,
                    container=container,
                    instance=instance.id,
                    role=role,
                    rank=rank,
                    ranks=ranks,
                    restart=instance.restart,
                    order=seen.order,
                    generation=seen.generation,
                    namespace=meta.namespace,
                    uid=meta.uid,
                    unseen=instance.unseen,
                )
                self._begin(target, instance, logs, catch_up=seen.is_new)

    def pod_deleted(self, pod: str) -> None:
        """A pod was deleted: print what still comes of its logs, open none again."""
        for logs in self._logs.get(pod, {}).values():
            self._wake(logs.pod_deleted())

    def last_lines(self, pod: str, container: str) -> list[bytes]:
        """The last lines of a container's newest log, without timestamps: all that are kept."""
        logs = self._logs.get(pod, {}).get(container)
        return [split(line)[1] for line in logs.newest.end.lines()] if logs else []

    def idle_seconds(self) -> float:
        """Seconds since any line came."""
        return asyncio.get_running_loop().time() - self._context.last_line_at

    async def drain(self, timeout: float) -> bool:
        """Wait until every log is at its end; whether that was reached in `timeout` seconds.

        A container that goes on running, and is silent for `DRAIN_IDLE_SECONDS`, is not waited for.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while pending := self._pending(loop.time()):
            left = deadline - loop.time()
            if left <= 0 or self._bug:
                break
            await asyncio.wait(
                pending,
                timeout=min(SWEEP_INTERVAL_SECONDS, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
        if self._bug:
            raise self._bug
        return not pending

    async def aclose(self) -> None:
        """Stop all tails and name those that were not at their end. Raises what a bug raised."""
        now = asyncio.get_running_loop().time()
        for log, tail in self._tails.items():
            if not log.state.finished and not tail.is_idle(now, DRAIN_IDLE_SECONDS):
                self.incomplete.append(f"{log.target.name}: stopped before its end")
        tasks = [*self._tails_by_task, *([self._sweeper] if self._sweeper else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self._bug:
            with suppress(OutputClosed):
                for text in self._repeated(inf):
                    self._context.writer.put(text)
        if self._files:
            self._files.close()
        if self._bug:
            raise self._bug

    def _begin(
        self, target: Target, instance: Instance, logs: ContainerLogs, *, catch_up: bool
    ) -> None:
        """Read the log of an instance that is new; `catch_up`: it may have run for long."""
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
            self._sweeper.add_done_callback(self._raised)
        if target.restart and not target.unseen:
            self._context.notify(f"{target.name}: container restarted, its log begins anew")
        options = self._context.options
        state = TailState(
            terminated=instance.ended,
            previous=instance.previous,
            follow=options.follow,
            catch_up=catch_up,
        )
        log = logs.add(target, state, instance.started, instance.ended_at)
        if target.unseen:
            self._tell_lost(log, logs)
            return
        renderer = LineRenderer(target, options, self._files, self._collapser)
        tail = Tail(log, logs, self._context, renderer, self._rewound)
        self._tails[log] = tail
        self._run(tail)

    def _run(self, tail: Tail) -> None:
        task = asyncio.create_task(tail.run())
        self._tails_by_task[task] = tail
        task.add_done_callback(self._finished)

    def _rewound(self, log: InstanceLog) -> None:
        """What was read of this log was another instance's: read it again."""
        tail = self._tails[log]
        tasks = self._tails_by_task.items()
        if any(each is tail and not task.done() for task, each in tasks):
            tail.stop(StreamEnd.WRONG_INSTANCE)
        else:
            self._run(tail)

    def _wake(self, changed: Iterable[InstanceLog]) -> None:
        for log in changed:
            self._tails[log].wake()

    def _finished(self, task: asyncio.Task[None]) -> None:
        tail = self._tails_by_task.pop(task)
        self._raised(task)
        target = tail.log.target
        self._tell_lost(tail.log, self._logs[target.pod][target.container])

    def _tell_lost(self, log: InstanceLog, logs: ContainerLogs) -> None:
        """Name a log that is done with, if it was not read to its end, and those in doubt by it."""
        if log.state.missing:
            self._miss(log, log.state.missing, is_begun=log.state.opened)
        for each in logs.doubtful():
            doubt = _DOUBT_AFTER_GAP if each.has_gap else _DOUBT
            self._miss(each, doubt, is_begun=each.has_gap)

    def _raised(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, OutputClosed):
            self._bug = self._bug or error

    def _miss(self, log: InstanceLog, why: str, *, is_begun: bool) -> None:
        fact = f"{log.target.name}: {why}"
        (self.incomplete if is_begun else self.unread).append(fact)
        self._context.notify(fact)

    def _pending(self, now: float) -> set[asyncio.Task[None]]:
        """Tails to wait for."""
        if self._context.writer.closed:
            return set()
        tails = self._tails_by_task.items()
        return {task for task, tail in tails if not tail.is_idle(now, DRAIN_IDLE_SECONDS)}

    async def _sweep(self) -> None:
        """Look after streams and repeated lines."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_INTERVAL_SECONDS)
            now = loop.time()
            tails = self._tails_by_task.values()
            for tail in tails:
                tail.check(now)
                if self._context.options.terminal:
                    tail.preview(now)
            idle = {tail: stream for tail in tails if (stream := tail.idle_stream(now))}
            if chosen := self._prober.choose(now, idle):
                chosen.stop(StreamEnd.STALLED)
            for text in self._repeated(now):
                await self._context.writer.write(text)

    def _repeated(self, now: float) -> Iterator[bytes]:
        """With `--log_collapse`: a line for each message that other pods repeated until now."""
        if self._collapser and not self._context.writer.closed:
            for line in self._collapser.expired(now):
                render = formatter(line.target, self._context.options)
                yield render([line.text], [line.timestamp])
