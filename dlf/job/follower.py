"""Follows one job to its end: the watch of the job, the watch of its pods, the clock.

After every change, and when `Decision.decide_at` comes, `decision.decide` says what to do.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from dlf.diagnose.pod_state import describe_pod, has_ended
from dlf.diagnose.roles import roles_of
from dlf.diagnose.start_reasons import StartReasons
from dlf.frameworks import job_state
from dlf.job.decision import Decision, decide
from dlf.job.ending import Ending
from dlf.job.followed_job import FollowedJob
from dlf.job.job_context import JobContext
from dlf.job.job_pods import Pods
from dlf.job.progress import Progress
from dlf.job.remove import any_running
from dlf.job.resilient_watch import watch
from dlf.job.silent_ranks import raised_ranks
from dlf.kube.reflector import Change, Snapshot
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Meta, Pod
from dlf.outcome.report import describe, error_words
from dlf.outcome.status_line import INTERVAL_SECONDS
from dlf.task.scalars import format_duration

REFRESH_SECONDS = 10.0
"""How long the last list of the pods may take."""


class Follower:
    """Keeps the state of one job and its pods up to date until the job ends.

    Args:
        context: cluster, limits, and where messages go.
        job: as it was created or found.
        logs: gets every pod.
    """

    def __init__(self, context: JobContext, job: Job, logs: Multiplexer) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self.reasons = StartReasons(
            context.client, context.kind, job, self._changed, context.verbose
        )
        self._logs = logs
        self._versions: dict[str, str] = {}  # resource version of each object, by its uid
        self._quiet_told_at = -1.0
        self.pods = Pods(roles_of(job), logs)
        self._followed = FollowedJob(
            job, self.pods, self.reasons, context.lifecycle, context.leader
        )
        self._progress = Progress(self._tell_progress)
        self._unknown: set[str] = set()
        self._ending: asyncio.Future[Ending] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._pods_changed = asyncio.Event()
        self._pods_listed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def job(self) -> Job:
        """The job as it was last seen."""
        return self._followed.job

    async def __aenter__(self) -> "Follower":
        self._followed.since = self._loop.time()
        _ = self._start(self._watch_job)
        self._watching_pods = self._start(self._watch_pods)
        self._tasks.append(asyncio.create_task(self._keep_status()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop_timer()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.reasons.aclose()

    async def end(self) -> Ending:
        """Wait for the end of the job, or for a time limit.

        Raises:
            Rejected, ClusterLost: a watch cannot go on.
        """
        self._changed()
        try:
            return await self._ending
        finally:
            self._stop_timer()
            self.reasons.stop_watching()
            self._tell_progress()

    async def refresh(self) -> None:
        """List the pods once more: their watch may lag behind that of the job, which ended.

        By a new watch, which begins with a list: what the old one still had to say is older.
        """
        self._watching_pods.cancel()
        await asyncio.wait({self._watching_pods})
        self._pods_listed.clear()
        self._watching_pods = self._start(self._watch_pods)
        with suppress(TimeoutError):
            async with asyncio.timeout(REFRESH_SECONDS):
                await self._pods_listed.wait()

    async def until_stopping(self) -> None:
        """Wait until every pod has ended or is being deleted."""
        while any_running(self.pods.here.values()):
            self._pods_changed.clear()
            await self._pods_changed.wait()

    async def _watch_job(self) -> None:
        client, kind, meta = self._context.client, self._context.kind, self.job.metadata
        field = f"metadata.name={meta.name}"
        await watch(client, kind, meta.namespace, Job, self._on_job, field_selector=field)

    async def _watch_pods(self) -> None:
        client, meta = self._context.client, self.job.metadata
        label = f"{self._context.kind.job_label}={meta.name}"
        await watch(client, POD, meta.namespace, Pod, self._on_pods, label_selector=label)

    def _start(self, watching: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Watch in a task; an error in it ends the following."""

        async def guarded() -> None:
            try:
                await watching()
            except Exception as error:
                if not self._ending.done():
                    self._ending.set_exception(error)
            finally:
                self._pods_listed.set()  # nothing more will come

        task = asyncio.create_task(guarded())
        self._tasks.append(task)
        return task

    def _on_job(self, step: Snapshot[Job] | Change[Job]) -> None:
        job = step.object if isinstance(step, Change) else next(iter(step.items), None)
        if job is None:
            self._followed.deleted = ""
        elif job.metadata.uid != self.job.metadata.uid:
            self._followed.deleted = "another one has its name now"
        else:
            self._tell_phase(job)
            self._followed.job = job
            self._note_version(job.metadata)
            # The event of a deletion carries the job's last state.
            is_gone = isinstance(step, Change) and step.type == "DELETED"
            if is_gone or job.metadata.deletion_timestamp:
                self._followed.deleted = ""
        self._changed()

    def _on_pods(self, step: Snapshot[Pod] | Change[Pod]) -> None:
        now = self._loop.time()
        for pod in self.pods.apply(step, now):
            name = pod.metadata.name
            self._note_version(pod.metadata)
            if name in self.pods.here:
                self.reasons.pulls.observe(pod, now)
                if pod.status.phase != "Pending":
                    self._progress.note(name, describe_pod(pod))
            else:
                self.reasons.pulls.forget(name)
                if not has_ended(pod):
                    self._progress.note(name, "deleted")
        self._pods_changed.set()
        if isinstance(step, Snapshot):
            self._pods_listed.set()
        self._changed()

    def _changed(self) -> None:
        if not self._ending.done():
            self._followed.changed(self._loop.time())
            self._decide()

    def _note_version(self, meta: Meta) -> None:
        """A list may repeat what is known: only another resource version is a change."""
        if self._versions.get(meta.uid) != meta.resource_version:
            self._versions[meta.uid] = meta.resource_version
            self._followed.quiet_since = self._loop.time()

    def _decide(self) -> None:
        now = self._loop.time()
        last_line_at = now - self._logs.idle_seconds()
        self._followed.quiet_since = max(self._followed.quiet_since, last_line_at)
        decision = decide(self._followed, now)
        self._stop_timer()
        if decision.ending:
            self._ending.set_result(decision.ending)
            return
        self._tell(decision, now)
        if decision.tell_quiet and self._quiet_told_at != self._followed.quiet_since:
            self._quiet_told_at = self._followed.quiet_since
            self._tell_raised(now)
        if decision.read_reasons:
            self.reasons.watch()
        elif self._followed.waiting_since is None:
            self.reasons.all_started()
        if decision.decide_at < float("inf"):
            self._timer = self._loop.call_at(decision.decide_at, self._decide)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _tell(self, decision: Decision, now: float) -> None:
        for notice in decision.notices:
            key, _ = self._followed.last_notices.get(notice.topic, (..., 0.0))
            if key != notice.key:
                self._context.notify(notice.text)
            self._followed.last_notices[notice.topic] = notice.key, now

    def _tell_raised(self, now: float) -> None:
        """A rank that raised while others wait for it in native code hangs with them."""
        raised = raised_ranks(self.pods, self._logs)
        if not raised:
            return
        quiet = format_duration(now - self._followed.quiet_since)
        more = f" (and {len(raised) - 1} more)" if len(raised) > 1 else ""
        self._context.notify(
            f"nothing has happened for {quiet}: no line, no change of the job or its pods;"
            f" {describe(raised[0])}{more}: {error_words(raised[0])}; others may wait for it"
            + ("" if self._context.lifecycle.hang_timeout else ", --hang_timeout would end the job")
        )

    def _tell_phase(self, job: Job) -> None:
        before, now = self._followed.state, job_state(job)
        for unknown in set(now.unknown) - self._unknown:
            self._unknown.add(unknown)
            self._context.notify(f"the job's status has an unknown `{unknown}`")
        if now.phase is not before.phase and not now.phase.final:
            name = f"{self._context.kind.title} {job.metadata.name}"
            self._context.notify(f"{name} is {now.phase.value}")

    async def _keep_status(self) -> None:
        while show := self._context.show_status:
            await asyncio.sleep(INTERVAL_SECONDS)
            show(self._followed.status_line(self._loop.time()))

    def _tell_progress(self) -> None:
        for line in self._progress.take(self._followed.count):
            self._context.notify(line)
