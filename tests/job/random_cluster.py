"""A cluster in which anything happens, and what is known of it: the base of random histories."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from hypothesis.stateful import RuleBasedStateMachine
from job.scenario import ScenarioResult, running_dlf
from job.simulated_cluster import SimulatedCluster
from job.test_stops import ELSEWHERE, disrupted, launcher
from typing_extensions import override
from virtual_loop import VirtualLoop

SIBLING = "another-task"
PODS = 3
SIDECAR = "istio-proxy"
ALIVE = ("Pending", "Running", "Trained")


class Kind(NamedTuple):
    """How the jobs of a framework are told: states are conditions, or one phase."""

    pods: tuple[tuple[str, int], ...]
    container: str
    states: tuple[tuple[str, ...], ...]
    succeeded: tuple[str, ...]
    failed: tuple[str, ...]


KINDS = {
    "pytorch": Kind(
        (("master", 0), ("worker", 0), ("worker", 1)),
        "pytorch",
        (("Created",), ("Created", "Running"), ("Created", "Restarting"), ("Strange",)),
        ("Created", "-Running", "Succeeded"),
        ("Created", "Succeeded", "Failed"),
    ),
    "mindspore": Kind(
        (("worker", 0), ("worker", 1), ("worker", 2)),
        "volcanojob",
        (("Pending",), ("Running",), ("Restarting",), ("Strange",)),
        ("Completed",),
        ("Failed",),
    ),
}
KINDS["deepspeed"] = KINDS["mindspore"]._replace(container="volcanojob")


class RandomCluster(RuleBasedStateMachine):
    """A job, its pods and their logs, a job of another task, dlf's own pod, the API server.

    Attributes:
        cluster: where it happens; None before the beginning.
        job: name of the job.
        phases: the last one of each pod that there was.
        gone: names of the pods that are not there any more.
        unreachable: logs of pods that are gone.
        written: of each log its pod and how many lines were written; each line says of which log.
        restart_of: of each log the restart count of its container.
        generation_of: of each log how many pods had the name of its pod before.
        stopping: pods that somebody deletes or the cluster takes away.
        interrupted: pods that ended while that was so; their success is none.
        is_away: the API server is.
        is_stalled: some request may never be answered.
        is_disrupted: the cluster takes dlf's own pod away.
    """

    cluster: SimulatedCluster
    kind: Kind

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self._loop = self._runner.get_loop()
        self._staging = AsyncExitStack()
        self._current: dict[str, int] = {}  # log of each pod
        self._restarts: dict[str, int] = {}
        self._pods_of_name: Counter[str] = Counter()
        self._untold: set[str] = set()  # pods that restarted before their status says so
        self.job = ""
        self.phases: dict[str, str] = {}
        self.gone: set[str] = set()
        self.unreachable: set[int] = set()
        self.written: list[tuple[str, int]] = []
        self.restart_of: list[int] = []
        self.generation_of: list[int] = []
        self.stopping: set[str] = set()
        self.interrupted: set[str] = set()
        self.framework = ""
        self.is_away = self.is_stalled = self.is_disrupted = False

    def run(self, happening: Coroutine[Any, Any, None]) -> None:
        """Let time go on until this has happened."""
        self._loop.run_until_complete(happening)

    async def open(self, framework: str, fault: dict[str, Any] | None, *flags: str) -> None:
        """Start dlf, and wait until it follows its job; the first create meets this fault."""
        self.kind, self.framework = KINDS[framework], framework

        def before(cluster: SimulatedCluster) -> None:
            launcher(cluster)
            cluster.earlier(SIBLING, task="8")
            if fault:
                cluster.api.fail(verb="create", **fault)

        staging = running_dlf(
            *("--num_worker", str(PODS), *flags),
            framework=framework,
            env=ELSEWHERE,
            before=before,
            sweep=5,
        )
        self.cluster = await self._staging.enter_async_context(staging)
        await self.cluster.until_message("submitted")
        [self.job] = {job["metadata"]["name"] for job in self._jobs()} - {SIBLING}

    async def close(self) -> None:
        """Nothing happens any more."""
        self.dlf.cancel()
        await asyncio.wait({self.dlf})
        await self._staging.aclose()

    @override
    def teardown(self) -> None:
        self._runner.close()

    @property
    def dlf(self) -> asyncio.Task[Any]:
        assert self.cluster.task
        return self.cluster.task

    def there(self, *phases: str) -> list[str]:
        """The pods that are there in one of these phases, or in any."""
        here = (pod for pod in self.phases if pod not in self.gone)
        return [pod for pod in here if not phases or self.phases[pod] in phases]

    def create_pod(self) -> str:
        """Create the first pod that is not there, as pending."""
        names = {f"{self.job}-{role}-{index}": (role, index) for role, index in self.kind.pods}
        pod = next(name for name in names if name not in self.there())
        self.cluster.pod(self.job, *names[pod], self.kind.container)
        self.phases[pod] = "Pending"
        for names_of in (self.gone, self.stopping, self.interrupted):
            names_of.discard(pod)
        self._restarts[pod] = 0
        self._pods_of_name[pod] += 1
        return pod

    def run_pod(self, pod: str) -> None:
        self.cluster.runs(pod)
        self.phases[pod] = "Running"
        self._begin_log(pod)

    def restart_pod(self, pod: str) -> None:
        """The container restarts; `tell` lets its status say so."""
        self.tell(pod)
        self._restarts[pod] += 1
        self.cluster.begins_log(pod)
        self._untold.add(pod)
        self._begin_log(pod)

    def tell(self, pod: str) -> None:
        if pod in self._untold:
            self.cluster.tells_restart(pod, self._restarts[pod], code=1)
            self._untold.remove(pod)

    def end_pod(self, pod: str, code: int, *, has_time: bool = True) -> None:
        """The leader's success would be the job's, unless it only ends since it is stopped."""
        if self.framework == "deepspeed" and pod.endswith("worker-0") and pod not in self.stopping:
            code = code or 1
        self.tell(pod)
        self.cluster.ends(pod, code)
        if not has_time:
            self.cluster.loses_time(pod)
        self.phases[pod] = "Failed" if code else "Succeeded"
        self.interrupted |= {pod} & self.stopping

    def stop_pod(self, pod: str, *, by_cluster: bool) -> None:
        if by_cluster:
            self.cluster.disrupts(pod)
        else:
            self.cluster.deletes(pod)
        self.stopping.add(pod)

    def may_train_out(self) -> list[str]:
        """Pods that may be kept by a sidecar for long: those that do not decide."""
        workers = [pod for pod in self.there("Running") if "-worker-" in pod]
        return workers if self.framework == "pytorch" else []

    def train_out(self, pod: str, code: int) -> None:
        """The training ends, and a sidecar keeps the pod."""
        self.tell(pod)
        self.cluster.injects(pod, SIDECAR)
        self.cluster.ends_training(pod, code)
        self.phases[pod] = "Trained"
        self.interrupted |= {pod} & self.stopping

    def end_sidecar(self, pod: str, code: int) -> None:
        phase = "Failed" if code else "Succeeded"
        self.cluster.ends_sidecar(pod, code, phase=phase)
        self.phases[pod] = phase

    def remove_pod(self, pod: str) -> None:
        self.tell(pod)
        store = self.cluster.api.store
        is_deleted = pod in self.stopping
        (store.finish_deletion if is_deleted else store.remove)(self.cluster.pods, pod)
        self.gone.add(pod)
        self.unreachable |= {log for log, (name, _) in enumerate(self.written) if name == pod}

    def remove_job(self) -> None:
        self.cluster.api.store.remove(self.cluster.jobs, self.job)
        self.unreachable |= set(range(len(self.written)))

    def print_lines(self, pod: str, count: int) -> None:
        log = self._current[pod]
        _, before = self.written[log]
        self.cluster.prints(pod, *(f"{log} {number}" for number in range(before, before + count)))
        self.written[log] = pod, before + count

    def set_state(self, state: tuple[str, ...]) -> None:
        if self.kind is KINDS["pytorch"]:
            self.cluster.condition(self.job, *state)
        else:
            self.cluster.phase(self.job, *state)

    def disrupt(self) -> None:
        disrupted(self.cluster)
        self.is_disrupted = True

    async def recover(self) -> None:
        """Nothing is wrong with the API server any more."""
        api = self.cluster.api
        api.faults.clear()
        api.tokens = set()
        if self.is_away:
            await api.server.start()
            self.is_away = False

    def _begin_log(self, pod: str) -> None:
        self._current[pod] = len(self.written)
        self.written.append((pod, 0))
        self.restart_of.append(self._restarts[pod])
        self.generation_of.append(self._pods_of_name[pod] - 1)
        self.print_lines(pod, 1)

    def _jobs(self) -> list[dict[str, Any]]:
        return self.cluster.api.store.list(self.cluster.jobs)

    def check_lines(self, result: ScenarioResult) -> None:
        """Each line was printed once and in order; a log that is not whole is named."""
        printed = defaultdict[tuple[str, str], list[int]](list)
        for line in result.out:
            name, serial, number = line.split()
            printed[name, serial].append(int(number))
        for log, (pod, count) in enumerate(self.written):
            numbers = printed.pop((pod, str(log)), [])
            assert numbers == sorted(set(numbers)), result.out
            is_whole = numbers == list(range(count))
            # A stream that never speaks is not told from a container that does not; and a pod that
            # came and went while nobody could look was never seen.
            is_hidden = self.is_stalled and pod in self.there("Running")
            is_unseen = log in self.unreachable and not numbers
            if result.outcome and not (is_whole or is_hidden or is_unseen):
                name, restart = f"{pod}/{self.kind.container}", self.restart_of[log]
                generation = self.generation_of[log]
                found = explanations(result.messages, name, restart, generation)
                assert found, (name, restart, generation, numbers, result.messages)
        assert not printed

    def check_left(self, result: ScenarioResult, *, is_stopped: bool) -> None:
        """Nothing is left in the cluster that should not be; `is_stopped`: dlf ended the job."""
        store = self.cluster.api.store
        assert store.get(self.cluster.jobs, SIBLING)["metadata"]["labels"]["task-id"] == "8"
        job = store.find(self.cluster.jobs, self.job)
        if is_stopped and self.is_disrupted:  # the next try attaches to it
            assert job
            assert not job["metadata"].get("ownerReferences")
        elif is_stopped:
            assert (result.jobs, result.pods) == ([SIBLING], ["launcher"])
        elif job:  # nothing runs on, unless somebody is about to stop it
            running = {pod for pod in self.there(*ALIVE) if pod in result.pods}
            metas = (store.get(self.cluster.pods, pod)["metadata"] for pod in running)
            assert all("deletionTimestamp" in meta for meta in metas)


_WHICH = (
    r"(?: \((?P<again>created again)?(?: (?P<times>\d+) times)?(?:, )?"
    r"(?:restart (?P<one>\d+)|each of restarts (?P<first>\d+) to (?P<last>\d+))?\))?: "
)
"""Which instance of `POD/CONTAINER` a message is about, as dlf writes it behind the name."""


def explanations(messages: list[str], name: str, restart: int, generation: int = 0) -> list[str]:
    """The messages that tell why lines of just this log were not printed.

    What is told of another container instance explains nothing, nor does the word of a restart.

    Args:
        messages: all that dlf said.
        name: `POD/CONTAINER`.
        restart: of the log.
        generation: how many pods of the name came before; dlf counts those that it has seen.
    """

    def is_own(found: re.Match[str]) -> bool:
        again, times, one, first, last = found.group("again", "times", "one", "first", "last")
        count = int(times or 1) if again else 0
        return count <= generation and int(first or one or 0) <= restart <= int(last or one or 0)

    which = re.compile(re.escape(name) + _WHICH)
    return [
        line
        for line in messages
        if "begins anew" not in line and any(map(is_own, which.finditer(line)))
    ]
