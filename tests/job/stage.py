"""A stage for histories: dlf's command against the fake API server, on the fake clock.

A history is a coroutine that plays the operator, the kubelets and everybody else.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fake_api import FakeApi
from fake_api.store import Collection
from virtual_loop import run as run_virtually

from dlf.commands import train
from dlf.commands.cluster import train as train_in_cluster
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode
from dlf.frameworks import BY_NAME
from dlf.job import report
from dlf.job.outcome import Outcome

NAMESPACE = "pipeline"
ENV = {
    "KFJ_NAMESPACE": NAMESPACE,
    "KFJ_RUN_ID": "run-1",
    "KFJ_TASK_ID": "7",
    "KFJ_TASK_NAME": "train",
    "KFJ_PIPELINE_NAME": "demo",
}
SUFFIX = "ab12"

LABELS = {  # role label, index label, job label of each operator's pods
    "kubeflow.org": (
        "training.kubeflow.org/replica-type",
        "training.kubeflow.org/replica-index",
        "training.kubeflow.org/job-name",
    ),
    "batch.volcano.sh": ("volcano.sh/task-spec", "volcano.sh/task-index", "volcano.sh/job-name"),
}


class Stage:
    """What a history acts on: the cluster, and the dlf that follows the job."""

    def __init__(self, api: FakeApi, plural: str, group: str) -> None:
        self.api = api
        self.jobs = Collection(group, plural, NAMESPACE)
        self.pods = Collection("", "pods", NAMESPACE)
        self.events = Collection("", "events", NAMESPACE)
        self.said: list[str] = []
        self.task: asyncio.Task[Outcome] | None = None

    async def job(self) -> str:
        """Wait for dlf to have created its job; its name."""
        await self.until(lambda: bool(self.api.store.list(self.jobs)))
        return str(self.api.store.list(self.jobs)[-1]["metadata"]["name"])

    async def until(self, holds: Callable[[], bool], within: float = 7200.0) -> None:
        """Let time pass until something holds."""
        async with asyncio.timeout(within):
            while not holds():
                await asyncio.sleep(0.01)

    async def heard(self, words: str) -> None:
        """Wait until dlf has said this."""
        await self.until(lambda: any(words in line for line in self.said))

    def condition(self, job: str, *types: str, **status: Any) -> None:
        """Set the conditions of a Kubeflow job; `-Type` is one with status False."""
        conditions = [
            {
                "type": name.lstrip("-"),
                "status": "False" if name.startswith("-") else "True",
                "reason": f"Job{name.lstrip('-')}",
                "message": f"the job is {name.lstrip('-')}",
            }
            for name in types
        ]
        self.api.store.patch(self.jobs, job, {"status": {"conditions": conditions, **status}})

    def phase(self, job: str, phase: str) -> None:
        """Set the phase of a Volcano Job."""
        self.api.store.patch(self.jobs, job, {"status": {"state": {"phase": phase}}})

    def pod(self, job: str, role: str, index: int, container: str = "pytorch") -> str:
        """Create a pending pod as the operator does; its name."""
        role_label, index_label, job_label = LABELS[self.jobs.group]
        name = f"{job}-{role}-{index}"
        self.api.store.create(
            self.pods,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "labels": {job_label: job, role_label: role, index_label: str(index)},
                    "ownerReferences": [
                        {"uid": self.api.store.get(self.jobs, job)["metadata"]["uid"]}
                    ],
                },
                "spec": {"containers": [{"name": container}]},
                "status": {"phase": "Pending"},
            },
        )
        return name

    def runs(self, pod: str, *lines: str, node: str = "node-1") -> None:
        """The pod's container runs and prints."""
        container = self._container(pod)
        self._state(pod, "Running", {"running": {"startedAt": self.api.store.stamp()}}, node=node)
        if lines:
            self.api.logs.of(NAMESPACE, pod, container).write(*lines)

    def ends(self, pod: str, code: int = 0, *lines: str, reason: str = "", **status: Any) -> None:
        """The pod's container ends; its log is whole."""
        container = self._container(pod)
        log = self.api.logs.of(NAMESPACE, pod, container)
        log.write(*lines)
        log.end()
        state = {
            "terminated": {
                "exitCode": code,
                "reason": reason or ("Error" if code else "Completed"),
                "finishedAt": self.api.store.stamp(),
            }
        }
        self._state(pod, "Failed" if code else "Succeeded", state, **status)

    def waits(self, pod: str, reason: str, message: str = "") -> None:
        """The pod's container cannot start yet."""
        self._state(pod, "Pending", {"waiting": {"reason": reason, "message": message}})

    def warn(self, name: str, reason: str, message: str) -> None:
        """A Warning event about the object of this name."""
        self.api.store.create(
            self.events,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.{len(self.api.store.list(self.events))}"},
                "type": "Warning",
                "reason": reason,
                "message": message,
                "involvedObject": {"name": name},
            },
        )

    def _container(self, pod: str) -> str:
        return str(self.api.store.get(self.pods, pod)["spec"]["containers"][0]["name"])

    def _state(
        self, pod: str, phase: str, state: dict[str, Any], node: str = "", **status: Any
    ) -> None:
        container = {
            "name": self._container(pod),
            "containerID": "" if "waiting" in state else f"containerd://{pod}",
            "state": state,
        }
        self.api.store.patch(
            self.pods,
            pod,
            {
                "spec": {"nodeName": node or "node-1"},
                "status": {"phase": phase, "containerStatuses": [container], **status},
            },
        )


class Played:
    """What came of it.

    Attributes:
        code: dlf's exit code.
        outcome: dlf's outcome, or None when it raised.
        error: what it raised.
        out: the log lines on stdout.
        said: what dlf said on stderr, its last block included.
        requests: `verb path` of every request.
    """

    def __init__(self, stage: Stage, out: bytes) -> None:
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        assert stage.task
        if stage.task.cancelled():
            self.code: int | None = None
        elif (error := stage.task.exception()) is not None:
            self.error = error
            self.code = error.exit_code if isinstance(error, DlfError) else ExitCode.BUG
        else:
            self.outcome = stage.task.result()
            self.code = self.outcome.code
            stage.said += report.block(self.outcome)
        self.out = out.decode().splitlines()
        self.said = stage.said
        self.requests = [f"{r.method} {r.path}" for r in stage.api.requests]
        self.api = stage.api
        self.jobs = [str(job["metadata"]["name"]) for job in stage.api.store.list(stage.jobs)]


History = Callable[[Stage], Awaitable[None]]


def play(
    history: History,
    *flags: str,
    framework: str = "pytorch",
    env: dict[str, str] | None = None,
    before: Callable[[Stage], None] | None = None,
    served: str | None = None,
) -> Played:
    """Run `dlf FRAMEWORK --image i FLAGS` against a fresh cluster while the history happens.

    Args:
        history: acts on the stage; dlf has to end by itself after it.
        flags: of the command line.
        framework: the command.
        env: more environment.
        before: prepares the cluster.
        served: plural of the kind that is expected, where the framework has several.
    """
    kinds = BY_NAME[framework].kinds
    kind = next(k for k in kinds if served in {None, k.plural})

    async def scenario() -> Played:
        with tempfile.TemporaryDirectory() as scratch:
            async with FakeApi() as api:
                stage = Stage(api, kind.plural, kind.group)
                if before:
                    before(stage)
                config = Path(scratch, "config")
                config.write_text(_kubeconfig(api.url))
                output = os.open(f"{scratch}/out", os.O_RDWR | os.O_CREAT)
                image = (
                    "--work_images" if framework in {"mpi", "horovod", "colossalai"} else "--image"
                )
                full = {**ENV, "KUBECONFIG": str(config), **(env or {})}
                asked = train.parse(BY_NAME[framework], [image, "img", *flags], full)
                stage.task = asyncio.create_task(
                    train_in_cluster(asked, _edge(full, output, stage.said))
                )
                acting = asyncio.ensure_future(history(stage))
                done, _ = await asyncio.wait(
                    {acting, stage.task}, return_when=asyncio.FIRST_COMPLETED
                )
                if acting in done:
                    await acting
                    await asyncio.wait({stage.task}, timeout=48 * 3600)
                else:
                    acting.cancel()
                if not stage.task.done():
                    stage.task.cancel()
                    await asyncio.wait({stage.task})
                    raise AssertionError(f"dlf did not end; it said {stage.said}")
                os.lseek(output, 0, os.SEEK_SET)
                return Played(stage, os.read(output, 1 << 24))

    return run_virtually(scenario())


def _edge(env: dict[str, str], stdout: int, said: list[str]) -> Edge:
    def drive(_: Any) -> Any:
        raise AssertionError("the stage drives by itself")

    return Edge(
        env=env,
        out=said.append,
        say=said.append,
        stdout=stdout,
        terminal=False,
        width=80,
        drive=drive,
        token=lambda digits: (SUFFIX * 8)[:digits],
    )


def _kubeconfig(server: str) -> str:
    return (
        f"apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        f"contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
        f"users: [{{name: u, user: {{token: secret}}}}]\n"
    )
