"""Reads why the pods of a job have not started: events, the PodGroup, its queue.

They are read only until all pods have started. They only explain: an account may be allowed to run
jobs and not to read these, so a refusal is no error.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from dlf.diagnose.events import WarningEvents
from dlf.diagnose.image_pulls import ImagePulls
from dlf.diagnose.pending import PendingReason, pending_reason
from dlf.diagnose.pod_group import QUEUE, PodGroup, Queue, group_name, why_not_admitted
from dlf.diagnose.pulled_images import PulledImages
from dlf.errors import DlfError, Rejected
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Change, Snapshot, list_and_watch
from dlf.manifest.kinds import EVENT, POD_GROUP, Kind
from dlf.manifest.observed import Event, Job, Pod

T = TypeVar("T")


class StartReasons:
    """The reasons why pods have not started.

    Args:
        client: of the cluster.
        kind: of the job.
        job: the job.
        changed: called when there is something new.
        verbose: prints a line with `--verbose`.

    Attributes:
        warnings: about the job's objects.
        pulls: image pulls that fail.
        pulled: image pulls that succeeded.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        job: Job,
        changed: Callable[[], None],
        verbose: Callable[[str], None],
    ) -> None:
        self.warnings = WarningEvents(job.metadata.name)
        self.pulls = ImagePulls()
        self.pulled = PulledImages(client, job.metadata, verbose)
        self._client = client
        self._namespace = job.metadata.namespace
        self._group = group_name(kind, job)
        self._changed = changed
        self._verbose = verbose
        self._admission = ""
        self._is_reading = False
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self) -> None:
        """Start reading events and PodGroup, unless that is already so."""
        if self._is_reading:
            return
        self._is_reading = True
        for reading in (self._watch_events(), self._watch_group()):
            task = asyncio.create_task(self._optional(reading))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def all_started(self) -> None:
        """There is nothing left to explain; how long image pulls took can be known."""
        self.stop_watching()
        self.pulled.begin()

    def stop_watching(self) -> None:
        """Stop reading: every pod has started."""
        self._is_reading = False
        for task in self._tasks:
            task.cancel()

    async def aclose(self) -> None:
        """Stop reading for good."""
        self.stop_watching()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.pulled.aclose()

    def pending_reason(self, pods: Sequence[Pod], total: int) -> PendingReason | None:
        """What the pods wait for, or None when all have started."""
        return pending_reason(pods, total, self.warnings, self.pulls, self._admission)

    async def _optional(self, reading: AsyncGenerator[None, None]) -> None:
        try:
            async with aclosing(reading) as steps:
                async for _ in steps:
                    self._changed()
        except DlfError as error:
            self._verbose(f"reasons for waiting may be missing: {error}")

    async def _watch_events(self) -> AsyncGenerator[None, None]:
        steps = list_and_watch(
            self._client, EVENT, self._namespace, Event, field_selector="type=Warning"
        )
        async for event in _objects(steps):
            self.warnings.observe(event)
            yield

    async def _watch_group(self) -> AsyncGenerator[None, None]:
        steps = list_and_watch(
            self._client,
            POD_GROUP,
            self._namespace,
            PodGroup,
            field_selector=f"metadata.name={self._group}",
        )
        async for group in _objects(steps):
            queue = await self._queue(group.spec.queue or "default")
            self._admission = why_not_admitted(group, queue)
            yield

    async def _queue(self, name: str) -> Queue | str | None:
        try:
            return await self._client.get(QUEUE, "", name, Queue)
        except Rejected:
            return ""


async def _objects(
    steps: AsyncGenerator[Snapshot[T] | Change[T], None],
) -> AsyncGenerator[T, None]:
    async with aclosing(steps):
        async for step in steps:
            for each in step.items if isinstance(step, Snapshot) else [step.object]:
                yield each
