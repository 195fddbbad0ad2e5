"""All logs of a job as one stream: starts, keeps and ends one tail per container instance."""

import asyncio
from collections.abc import Callable
from itertools import chain, groupby

from dlf.logs.collapse import Collapser
from dlf.logs.context import LogContext
from dlf.logs.format import formatter
from dlf.logs.instances import Instance, Target, instances
from dlf.logs.log_files import LogFiles
from dlf.logs.log_options import LogOptions
from dlf.logs.renderer import LineRenderer
from dlf.logs.source import LogSource
from dlf.logs.stalls import StallProber
from dlf.logs.tail import Tail
from dlf.logs.tail_state import StreamEnd, TailState
from dlf.logs.timestamps import split
from dlf.logs.writer import OutputClosed, Writer
from dlf.manifest.observed import Pod

SWEEP_INTERVAL_SECONDS = 1.0
"""Seconds between looks for stalled streams and for repeated lines to tell."""
DRAIN_IDLE_SECONDS = 5.0
"""Seconds of silence after which a container that goes on running does not hold up `drain`."""


class Multiplexer:
    """Follows the logs of the pods it is shown.

    Args:
        source: opens logs.
        writer: takes what is printed.
        options: what to print and how.
        notice: told, in words, what a reader of the log should know: restarts, gaps, losses.

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
        notice: Callable[[str], None],
    ) -> None:
        self._context = LogContext(source, writer, options, notice)
        self._files = LogFiles(options.log_dir, notice) if options.log_dir else None
        self._collapser = Collapser() if options.log_collapse else None
        # By pod and container, oldest first. By names, as these are what a log is asked for by.
        self._tails: dict[str, dict[str, list[Tail]]] = {}
        self._tails_by_task: dict[asyncio.Task[None], Tail] = {}
        self._prober = StallProber()
        self._sweeper: asyncio.Task[None] | None = None
        self._bug: BaseException | None = None
        self.unread: list[str] = []
        self.incomplete: list[str] = []

    def observe(self, pod: Pod, role: str, rank: int | None) -> None:
        """A pod was listed, added or changed: start what it has, note what has ended."""
        meta = pod.metadata
        containers = self._tails.setdefault(meta.name, {})
        for tail in chain.from_iterable(containers.values()):
            if tail.target.uid != meta.uid:  # of a pod that had this name before
                self._update(tail, None)
        for container, current in groupby(instances(pod), lambda instance: instance.container):
            if container in self._context.options.skip_containers:
                continue
            new = {instance.id: instance for instance in current}
            tails = containers.setdefault(container, [])
            tails[:] = _needed(tails)
            for tail in tails:
                self._update(tail, new.pop(tail.target.instance, None))
            for instance in new.values():
                target = Target(
                    pod=meta.name,
                    container=container,
                    instance=instance.id,
                    role=role,
                    rank=rank,
                    restart=instance.restart,
                    namespace=meta.namespace,
                    uid=meta.uid,
                )
                self._begin(target, instance, tails)

    def pod_deleted(self, pod: str) -> None:
        """A pod was deleted: print what still comes of its logs, open none again."""
        for tail in chain.from_iterable(self._tails.get(pod, {}).values()):
            self._update(tail, None)

    def last_lines(self, pod: str, container: str) -> list[bytes]:
        """The last lines of a container's newest log, without timestamps: all that are kept."""
        tails = self._tails.get(pod, {}).get(container)
        return [split(line)[1] for line in tails[-1].pipeline.end.lines()] if tails else []

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
        for containers in self._tails.values():
            for tail in chain.from_iterable(containers.values()):
                if not tail.state.finished and not tail.is_idle(now, DRAIN_IDLE_SECONDS):
                    self.incomplete.append(f"{tail.target.name}: stopped before its end")
        tasks = [*self._tails_by_task, *([self._sweeper] if self._sweeper else ())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._files:
            self._files.close()
        if self._bug:
            raise self._bug

    def _begin(self, target: Target, instance: Instance, tails: list[Tail]) -> None:
        """Read the log of an instance that is new."""
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        of_pod = [tail.target for tail in tails if tail.target.uid == target.uid]
        unseen = target.restart - max([each.restart + 1 for each in of_pod], default=0)
        if unseen > 0:
            self._miss(
                self.unread, f"{target.pod}/{target.container}: {unseen} earlier logs gone unread"
            )
        if target.restart:
            self._context.notice(f"{target.name}: container restarted, its log begins anew")
        options = self._context.options
        state = TailState(ended=instance.ended, previous=instance.previous, follow=options.follow)
        renderer = LineRenderer(target, options, self._files, self._collapser)
        tails.append(Tail(target, state, self._context, renderer, self._belongs_to_other_instance))
        self._run(tails[-1])

    def _run(self, tail: Tail) -> None:
        task = asyncio.create_task(tail.run())
        self._tails_by_task[task] = tail
        task.add_done_callback(self._finished)

    def _belongs_to_other_instance(self, tail: Tail) -> bool:
        """Whether the log whose first line this tail read is read by another instance's tail too.

        A container that restarts, or a pod that is created again, between the watch's word and our
        request gives us the log of the next instance. Then the older instance's tail is wrong, even
        if it has come to that log's end, and the newer one goes on from where that has come to.
        """
        tails = self._tails[tail.target.pod][tail.target.container]
        for other in tails:
            if other is not tail and other.pipeline.position.first == tail.pipeline.position.first:
                older, newer = sorted((tail, other), key=tails.index)
                if newer is tail:
                    newer.pipeline.inherit(older.pipeline)
                is_at_its_end = older.state.finished
                older.rewind()
                if is_at_its_end:
                    self._run(older)
                return True
        return False

    def _update(self, tail: Tail, instance: Instance | None) -> None:
        """What the pod's status says of a tail's instance; None when it is no longer listed."""
        state = tail.state
        before = (state.ended, state.previous, state.deleted)
        if instance is None:
            state.deleted = True
        else:
            state.ended, state.previous = instance.ended, instance.previous
        if before != (state.ended, state.previous, state.deleted):
            tail.wake()

    def _finished(self, task: asyncio.Task[None]) -> None:
        tail = self._tails_by_task.pop(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, OutputClosed):
            self._bug = self._bug or error
        if tail.state.missing:
            facts = self.incomplete if tail.state.opened else self.unread
            self._miss(facts, f"{tail.target.name}: {tail.state.missing}")

    def _miss(self, facts: list[str], fact: str) -> None:
        facts.append(fact)
        self._context.notice(fact)

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
            idle = {tail: stream for tail in tails if (stream := tail.idle_stream(now))}
            if chosen := self._prober.choose(now, idle):
                chosen.stop(StreamEnd.STALLED)
            if self._collapser and not self._context.writer.closed:
                for line in self._collapser.expired(now):
                    render = formatter(line.target, self._context.options)
                    text = render([line.text], [line.timestamp])
                    await self._context.writer.write(text)


def _needed(tails: list[Tail]) -> list[Tail]:
    """Leave out the logs that are out of reach and done with, once the newer ones are known apart.

    Before the news of a restart: by that an older log may turn out to have been a newer one's. The
    newest stays, too: its last lines may be asked for.
    """
    return [
        tail
        for index, tail in enumerate(tails)
        if not (tail.state.deleted and tail.state.finished)
        or tail is tails[-1]
        or not all(newer.is_recognised for newer in tails[index + 1 :])
    ]
