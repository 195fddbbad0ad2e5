"""Random histories: whatever happens on the way, dlf ends with the job, and with its result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, run_state_machine_as_test
from job.random_cluster import ALIVE, KINDS, PODS, RandomCluster
from job.random_rules import event, of_pod
from job.scenario import ScenarioResult
from typing_extensions import override

from dlf.errors import ExitCode

FAULTS: list[dict[str, Any]] = [
    {"seconds": 40, "status": 500},
    {"seconds": 40, "status": 503, "verb": "watch"},
    {"seconds": 40, "status": 502, "verb": "log"},
    {"status": 429, "retry_after": 20},
    {"close": True, "times": 3},
    {"stall": True, "verb": "list"},
    {"stall": True, "verb": "log"},
    {"stall": True, "verb": "watch"},
]
CREATION: list[dict[str, Any]] = [
    {"status": 503},
    {"status": 429, "retry_after": 20},
    {"close": True, "done_first": True},
    {"stall": True, "done_first": True},
]

SETTLED = 15.0  # seconds; a refusal before that is one from the start, which ends dlf
CALM = 60.0  # seconds after trouble in which everything is tried again
OUTAGE, LIMIT = (
    1000,
    2400,
)  # seconds; a history takes less than the one, trouble less than the other
BOUND = 900.0  # seconds from the job's end to dlf's; a watch that stalls is noticed after 630


class Histories(RandomCluster):
    """What may happen, and the ends that it may come to."""

    @initialize(
        framework=st.sampled_from(sorted(KINDS)),
        end=st.deferred(lambda: st.sampled_from(ENDS)),
        is_calm=st.booleans(),
        is_settled=st.booleans(),
        missing=st.integers(0, PODS),
        fault=st.none() | st.sampled_from(CREATION),
    )
    def begin(
        self,
        framework: str,
        end: "End",
        is_calm: bool,
        is_settled: bool,
        missing: int,
        fault: dict[str, Any] | None,
    ) -> None:
        self.end, self.is_settled = end, is_settled
        self.is_calm = is_calm or end in {hopeless, expired}
        flags = ("--api_outage", f"{OUTAGE}s", "--timeout", f"{LIMIT}s")

        async def beginning() -> None:
            await self.open(framework, fault, *flags)
            for _ in range(PODS - missing):
                self.run_pod(self.create_pod())
            await asyncio.sleep(SETTLED if is_settled else 0.0)

        self.run(beginning())

    @invariant()
    def dlf_goes_on(self) -> None:
        assert not self.job or not self.dlf.done(), self.cluster.messages

    @event(lambda self: len(self.there()) < PODS)
    def pod_appears(self) -> None:
        self.create_pod()

    @of_pod("Pending", reason=st.sampled_from(["ContainerCreating", "ImagePullBackOff"]))
    def pod_waits(self, pod: str, reason: str) -> None:
        self.cluster.waits(pod, reason, "slow")

    @of_pod("Pending")
    def pod_runs(self, pod: str) -> None:
        self.run_pod(pod)

    @of_pod("Running", count=st.integers(1, 5))
    def pod_prints(self, pod: str, count: int) -> None:
        self.print_lines(pod, count)

    @of_pod("Running", is_told=st.booleans())
    def pod_restarts(self, pod: str, is_told: bool) -> None:
        self.restart_pod(pod)
        if is_told:
            self.tell(pod)

    @of_pod(
        "Running",
        code=st.sampled_from([0, 0, 0, 1, 137]),
        count=st.integers(0, 2),
        has_time=st.booleans(),
    )
    def pod_ends(self, pod: str, code: int, count: int, has_time: bool) -> None:
        self.print_lines(pod, count)
        self.end_pod(pod, code, has_time=has_time)

    @of_pod(*ALIVE, by_cluster=st.booleans())
    def pod_is_stopped(self, pod: str, by_cluster: bool) -> None:
        self.stop_pod(pod, by_cluster=by_cluster)

    @of_pod("Pending", "Running", by_cluster=st.booleans(), code=st.sampled_from([0, 143]))
    async def pod_is_stopped_and_created_again(self, pod: str, by_cluster: bool, code: int) -> None:
        self.stop_pod(pod, by_cluster=by_cluster)
        await asyncio.sleep(1)
        if self.phases[pod] == "Running":
            self.end_pod(pod, code)
        self.remove_pod(pod)
        self.run_pod(self.create_pod())

    @event(lambda self: self.may_train_out(), pick=st.integers(0, 2), code=st.integers(0, 1))
    def training_ends_before_its_sidecar(self, pick: int, code: int) -> None:
        pods = self.may_train_out()
        self.train_out(pods[pick % len(pods)], code)

    @of_pod("Trained", code=st.sampled_from([0, 137]))
    def sidecar_ends(self, pod: str, code: int) -> None:
        self.end_sidecar(pod, code)

    @of_pod()
    def pod_goes(self, pod: str) -> None:
        self.remove_pod(pod)

    @event(pick=st.integers(0, 3), is_strange=st.booleans())
    def job_goes_on(self, pick: int, is_strange: bool) -> None:
        self.set_state(self.kind.states[pick])
        if is_strange:
            self.cluster.warn(self.job, "FailedMount", "no volume")
            self.cluster.api.send_event("STRANGE", {"metadata": {"name": self.job}})

    @event(lambda self: not self.is_disrupted)
    def launcher_is_disrupted(self) -> None:
        self.disrupt()

    @event(how=st.sampled_from(["cleanly", "expired", "broken"]))
    async def watches_end(self, how: str) -> None:
        match how:
            case "cleanly":
                self.cluster.api.end_watches()
            case "expired":
                self.cluster.api.expire_watches()
            case _:
                await self.cluster.api.server.drop()

    @event(fault=st.sampled_from(FAULTS))
    def server_fails(self, fault: dict[str, Any]) -> None:
        self.cluster.api.fail(**fault)
        self.is_stalled |= "stall" in fault

    @event(lambda self: not self.is_away)
    async def server_leaves(self) -> None:
        await self.cluster.api.server.stop()
        self.is_away = True

    @event(lambda self: self.is_settled)
    def token_is_refused(self) -> None:
        self.cluster.api.tokens = {"another"}
        self.cluster.api.end_watches()

    @event(lambda self: self.is_away or self.cluster.api.tokens)
    async def server_recovers(self) -> None:
        await self.recover()

    @event(seconds=st.sampled_from([5.0, 30.0]))
    async def time_passes(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @override
    def teardown(self) -> None:
        try:
            if self.job:
                self.run(self._come_to_the_end())
        finally:
            super().teardown()

    async def _come_to_the_end(self) -> None:
        try:
            for pod in self.there():
                self.tell(pod)
            if self.is_calm:
                await self.recover()
                await asyncio.sleep(CALM)
            codes = await self.end(self)
            if not self.is_calm and self.end is not lost:
                await asyncio.sleep(20)
                await self.recover()
            await asyncio.wait({self.dlf}, timeout=BOUND)
            assert self.dlf.done(), f"dlf did not end; it said {self.cluster.messages}"
            result = ScenarioResult(self.cluster)
            assert result.code in codes, result.messages
            self.check_lines(result)
            if self.end is lost:
                assert self.job in result.jobs
            elif self.is_calm:  # a server that fails cannot be asked to delete anything
                self.check_left(result, is_stopped=self.end in {signalled, hopeless, expired})
        finally:
            await self.close()


# The ends, and the exit codes that are right then.


async def succeeded(cluster: Histories) -> set[int]:
    cluster.set_state(cluster.kind.succeeded)
    return {ExitCode.SUCCEEDED}


async def failed(cluster: Histories) -> set[int]:
    cluster.set_state(cluster.kind.failed)
    return {ExitCode.FAILED}


async def deleted(cluster: Histories) -> set[int]:
    cluster.remove_job()
    is_interrupted = bool(cluster.interrupted)
    if (
        len(cluster.phases) < PODS
        or set(cluster.phases.values()) != {"Succeeded"}
        or is_interrupted
    ):
        return {ExitCode.DELETED}
    is_known = cluster.is_calm and not cluster.is_stalled
    return {ExitCode.SUCCEEDED} if is_known else {ExitCode.SUCCEEDED, ExitCode.DELETED}


async def replaced(cluster: Histories) -> set[int]:
    codes = await deleted(cluster)
    cluster.cluster.earlier(cluster.job, task="9")
    cluster.cluster.api.store.compact()
    return codes


async def signalled(cluster: Histories) -> set[int]:
    cluster.cluster.signal()
    return {ExitCode.SIGTERM}


async def hopeless(cluster: Histories) -> set[int]:
    if len(cluster.there()) == PODS:
        cluster.remove_pod(cluster.there()[0])
    cluster.cluster.waits(cluster.create_pod(), "InvalidImageName", "no such image")
    return {ExitCode.FAILED}


async def expired(cluster: Histories) -> set[int]:
    await asyncio.sleep(LIMIT - cluster.cluster.now())
    return {ExitCode.TIMEOUT}


async def lost(cluster: Histories) -> set[int]:
    await cluster.cluster.api.server.stop()
    await asyncio.sleep(OUTAGE + CALM)
    return {ExitCode.CLUSTER_LOST}


End = Callable[[Histories], Awaitable[set[int]]]
ENDS: list[End] = [succeeded, failed, deleted, replaced, signalled, hopeless, expired, lost]


@pytest.mark.timeout(3600)
def test_every_history_that_ends_ends_dlf_with_its_result() -> None:
    """No order of events makes it hang, crash, lose a line or come to another result."""
    examples = settings().max_examples // 2  # each is a run of dlf
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=examples, stateful_step_count=25)
    )
