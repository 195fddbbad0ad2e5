"""Commands as in a terminal: against the API server in a thread, with what they print kept."""

import asyncio
import subprocess
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from fake_api import FakeApi
from fake_api.thread import ApiThread

from dlf.cli import main
from dlf.edge import Edge
from dlf.errors import DlfError, ExitCode

NAMESPACE = "ml"


class Console:
    """Runs commands, in this process or in one of their own.

    Attributes:
        api: the server's thread.
        out: what the last command printed on stdout.
        said: the lines of its stderr, without the name of dlf before them.
        stdout: the file that stdout is, to be read while a command runs.
        env: environment of the commands.
    """

    def __init__(self, api: ApiThread, folder: Path, executable: list[str] | None) -> None:
        self.api = api
        self.out = ""
        self.said: list[str] = []
        self.stdout = folder / "stdout"
        self.stdout.touch()
        self.env = {"KUBECONFIG": str(api.kubeconfig)}
        self._executable = executable

    def run(self, *words: str) -> ExitCode:
        """Run `dlf WORDS` and return its exit code, errors included."""
        self.said = []
        with self.stdout.open("wb", buffering=0) as stdout:
            if self._executable:
                code = self._as_process([*self._executable, *words], stdout)
            else:
                code = self._here(["dlf", *words], stdout)
        self.out = self.stdout.read_text()
        return code

    def _as_process(self, words: list[str], stdout: FileIO) -> ExitCode:
        done = subprocess.run(
            words, env=self.env, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60
        )
        self.said = [line.removeprefix("dlf: ") for line in done.stderr.splitlines()]
        return ExitCode(done.returncode)

    def _here(self, words: list[str], stdout: FileIO) -> ExitCode:
        edge = Edge(
            env=self.env,
            out=lambda text: stdout.write(text.encode()),
            notify=self.said.append,
            stdout=stdout.fileno(),
            terminal=False,
            width=80,
            run=_run,
            token=lambda digits: "ab12ab12ab12ab12"[:digits],
        )
        try:
            return ExitCode(main(words, edge))
        except DlfError as error:
            self.said.append(error.message + (f"; {error.hint}" if error.hint else ""))
            return error.exit_code

    def create(self, plural: str, name: str, namespace: str = NAMESPACE, **fields: Any) -> None:
        """Create an object; `labels`, `annotations` and `owner` go into its metadata."""
        meta: dict[str, Any] = {"name": name}
        for key in ("labels", "annotations"):
            if key in fields:
                meta[key] = fields.pop(key)

        def fill(api: FakeApi) -> None:
            where = api.collection(plural, namespace)
            if owner := fields.pop("owner", None):
                job = api.store.get(api.collection(owner[0], owner[1]), owner[2])
                meta["ownerReferences"] = [{"uid": job["metadata"]["uid"]}]
            api.store.create(where, {"metadata": meta, **fields})

        self.api.call(fill)

    def pytorchjob(self, name: str, *conditions: str, **fields: Any) -> None:
        """A PyTorchJob that dlf submitted, of one pod, whose conditions hold."""
        held = [
            {"type": each, "status": "True", "reason": f"Job{each}", "message": "it is so"}
            for each in conditions
        ]
        given: dict[str, Any] = {
            "labels": {"run-id": "r", "task-id": "7", "task-name": "train"},
            "annotations": {"dlf/spec-hash": "x"},
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}},
            "status": {"conditions": held},
        }
        self.create("pytorchjobs", name, **(given | fields))

    def pod(self, job: str, *lines: str, code: int | None = None, owned: bool = True) -> str:
        """The master of a job; it has printed these lines, and runs or has ended."""
        name = f"{job}-master-0"
        state: dict[str, Any]
        if code is None:
            phase, state = "Running", {"running": {"startedAt": "2026-01-02T03:04:05Z"}}
        else:
            phase = "Failed" if code else "Succeeded"
            state = {"terminated": {"exitCode": code, "startedAt": "2026-01-02T03:04:05Z"}}
        key = "training.kubeflow.org/"
        role = {f"{key}replica-type": "master", f"{key}replica-index": "0"}
        status = {"name": "pytorch", "containerID": f"c://{name}", "restartCount": 0}
        self.create(
            "pods",
            name,
            labels={f"{key}job-name": job, **role},
            owner=("pytorchjobs", NAMESPACE, job) if owned else None,
            spec={"nodeName": "node-1", "containers": [{"name": "pytorch"}]},
            status={"phase": phase, "containerStatuses": [{**status, "state": state}]},
        )

        def write(api: FakeApi) -> None:
            log = api.logs.of(NAMESPACE, name, "pytorch")
            log.write(*lines)
            if code is not None:
                log.end()

        self.api.call(write)
        return name


@contextmanager
def console(folder: Path, executable: list[str] | None = None) -> Iterator[Console]:
    """A console at a fresh cluster, for dlf in this process or for the words of an executable."""
    with ApiThread(folder, namespace=NAMESPACE) as api:
        yield Console(api, folder, executable)


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)
