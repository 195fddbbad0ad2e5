"""Plays a history: dlf's command against the fake API server, on the fake clock."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fake_api import FakeApi
from job.simulated_cluster import NAMESPACE, SimulatedCluster
from virtual_loop import run as run_virtually

from dlf.commands.cluster_training import train as train_in_cluster
from dlf.commands.invocation import parse
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode
from dlf.frameworks import load_framework
from dlf.job.submit import spec_hash
from dlf.logs import multiplexer
from dlf.outcome import report
from dlf.outcome.outcome import Outcome

ENV = {
    "KFJ_NAMESPACE": NAMESPACE,
    "KFJ_RUN_ID": "run-1",
    "KFJ_TASK_ID": "7",
    "KFJ_TASK_NAME": "train",
    "KFJ_PIPELINE_NAME": "demo",
}
SUFFIX = "ab12"
_IMAGE = {"mpi": "--work_images", "horovod": "--work_images", "colossalai": "--work_images"}
_DAYS = 2 * 86400.0  # a history in which dlf runs on for so long is one in which it hangs


class ScenarioResult:
    """What came of it.

    Attributes:
        code: dlf's exit code.
        outcome: dlf's outcome, or None when it raised.
        error: what it raised.
        out: the log lines on stdout.
        messages: what dlf told on stderr, its last block included.
        requests: `verb path` of every request.
        jobs: names of the jobs that are left.
        pods: names of the pods that are left.
        ended: when dlf ended, in seconds since the history began.
        api: the server.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        assert cluster.task
        if cluster.task.cancelled():
            self.code: int = ExitCode.SIGTERM
        elif (error := cluster.task.exception()) is not None:
            self.error = error
            if not isinstance(error, DlfError):
                raise error
            self.code = error.exit_code
        else:
            self.outcome = cluster.task.result()
            self.code = self.outcome.code
            cluster.messages += report.block(self.outcome)
        self.out = cluster.printed.read_text(errors="replace").splitlines()
        self.messages = cluster.messages
        self.requests = [f"{r.method} {r.path}" for r in cluster.api.requests]
        store = cluster.api.store
        self.jobs = [str(job["metadata"]["name"]) for job in store.list(cluster.jobs)]
        self.pods = [str(pod["metadata"]["name"]) for pod in store.list(cluster.pods)]
        self.ended = cluster.now()
        self.api = cluster.api
        self.cluster = cluster

    def count(self, words: str) -> int:
        """How many lines of stderr have these words."""
        return sum(words in line for line in self.messages)

    def asked(self, method: str, plural: str) -> list[str]:
        """The paths of the requests with this method on a resource."""
        return [
            request.partition(" ")[2]
            for request in self.requests
            if request.startswith(f"{method} ") and f"/{plural}" in request
        ]


History = Callable[[SimulatedCluster], Awaitable[None]]


def run_scenario(history: History, *flags: str, **how: Any) -> ScenarioResult:
    """Run dlf on a cluster, as `running_dlf` does, while the history happens.

    Args:
        history: acts on the cluster; dlf has to end by itself after it.
        flags: of the command line.
        how: more arguments of `running_dlf`.
    """

    async def scenario() -> ScenarioResult:
        async with running_dlf(*flags, **how) as cluster:
            assert cluster.task
            await _act(history(cluster), cluster.task, cluster.messages)
            return ScenarioResult(cluster)

    return run_virtually(scenario())


@asynccontextmanager
async def running_dlf(
    *flags: str,
    framework: str = "pytorch",
    env: dict[str, str] | None = None,
    before: Callable[[SimulatedCluster], object] | None = None,
    plural: str = "",
    stdout: int = -1,
    sweep: float = multiplexer.SWEEP_INTERVAL_SECONDS,
    show_status: Callable[[str], None] | None = None,
) -> AsyncIterator[SimulatedCluster]:
    """A fresh cluster, against which `dlf FRAMEWORK --image img FLAGS` runs.

    Args:
        flags: of the command line.
        framework: the command.
        env: more environment.
        before: prepares the cluster.
        plural: of the kind that is expected, where the framework has several.
        stdout: descriptor for the log lines; by default a file of which `ScenarioResult.out` tells.
        sweep: seconds between two looks at the logs; more makes a history of hours quick to play.
        show_status: gets the status lines of a terminal.
    """
    found = load_framework(framework)
    kind = next(k for k in found.kinds if plural in {"", k.plural})
    with (
        tempfile.TemporaryDirectory() as scratch,
        patch.object(multiplexer, "SWEEP_INTERVAL_SECONDS", sweep),
    ):
        async with FakeApi() as api:
            config = Path(scratch, "config")
            config.write_text(_kubeconfig(api.url))
            full = {**ENV, "KUBECONFIG": str(config), **(env or {})}
            argv = [_IMAGE.get(framework, "--image"), "img", *flags]
            asked = parse(found, argv, full)
            cluster = SimulatedCluster(
                api, kind, spec_hash(found, asked.task, kind), Path(scratch, "out")
            )
            if before:
                before(cluster)
            with cluster.printed.open("wb") as file:
                edge = _edge(full, file.fileno() if stdout < 0 else stdout, cluster.messages)
                edge = edge._replace(show_status=show_status)
                cluster.task = asyncio.create_task(train_in_cluster(asked, edge))
                yield cluster


async def _act(history: Awaitable[None], dlf: asyncio.Task[Outcome], messages: list[str]) -> None:
    acting = asyncio.ensure_future(history)
    await asyncio.wait({acting, dlf}, return_when=asyncio.FIRST_COMPLETED)
    if not acting.done() and dlf.done():
        await asyncio.sleep(0)
        acting.cancel()
    await asyncio.wait({acting})
    if not acting.cancelled():
        acting.result()
    await asyncio.wait({dlf}, timeout=_DAYS)
    if not dlf.done():
        dlf.cancel()
        await asyncio.wait({dlf})
        raise AssertionError(f"dlf did not end; it told {messages}")


def _edge(env: dict[str, str], stdout: int, messages: list[str]) -> Edge:
    def run(_: Any) -> Any:
        raise AssertionError("the scenario runs its own event loop")

    return Edge(
        env=env,
        out=messages.append,
        notify=messages.append,
        stdout=stdout,
        terminal=False,
        width=80,
        run=run,
        token=lambda digits: (SUFFIX * 8)[:digits],
    )


def _kubeconfig(server: str) -> str:
    return (
        f"apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        f"contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
        f"users: [{{name: u, user: {{token: secret}}}}]\n"
    )
