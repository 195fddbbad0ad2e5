"""The real process against an API server with TLS, with real signals and pipes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from fake_api import FakeApi
from fake_api.thread import ApiThread
from owned_process import OwnedProcess
from waiting import until

from dlf.errors import ExitCode

NAMESPACE = "ml"
Start = Callable[..., OwnedProcess[str]]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiThread]:
    with ApiThread(tmp_path, namespace=NAMESPACE) as opened:
        yield opened


@pytest.fixture
def start(api: ApiThread, dlf_command: list[str]) -> Iterator[Start]:
    """Starts `dlf pytorch --num_worker 1`, whose progress is on stderr."""
    started: list[OwnedProcess[str]] = []

    def start(*flags: str, **more: str) -> OwnedProcess[str]:
        words = [*dlf_command, "pytorch", "--image", "i", "--num_worker", "1", *flags]
        env = {**os.environ, "KUBECONFIG": str(api.kubeconfig), **more}
        started.append(OwnedProcess(words, env=env, stdout=PIPE, stderr=PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.end()


def jobs(api: FakeApi) -> list[dict[str, Any]]:
    return api.store.list(api.collection("pytorchjobs", NAMESPACE))


def run_pod(api: FakeApi) -> str:
    """The operator starts the only pod of the only job; its name."""
    job = jobs(api)[0]["metadata"]
    name = f"{job['name']}-master-0"
    key = "training.kubeflow.org/"
    state = {"running": {"startedAt": api.store.stamp()}}
    status = {"name": "pytorch", "containerID": "c://1", "state": state}
    api.store.create(
        api.collection("pods", NAMESPACE),
        {
            "metadata": {
                "name": name,
                "labels": {f"{key}job-name": job["name"], f"{key}replica-type": "master"},
                "ownerReferences": [{"uid": job["uid"]}],
            },
            "spec": {"containers": [{"name": "pytorch"}]},
            "status": {"phase": "Running", "containerStatuses": [status]},
        },
    )
    return name


def fail_job(api: FakeApi) -> None:
    """The only job fails, and its pod, if it has one, with it."""
    pods = api.collection("pods", NAMESPACE)
    for pod in api.store.list(pods):
        name = pod["metadata"]["name"]
        api.logs.of(NAMESPACE, name, "pytorch").end()
        end = {"exitCode": 1, "startedAt": api.store.stamp(), "finishedAt": api.store.stamp()}
        status = {"name": "pytorch", "containerID": "c://1", "state": {"terminated": end}}
        change = {"phase": "Failed", "containerStatuses": [status]}
        api.store.patch(pods, name, {"status": change})
    condition = {"type": "Failed", "status": "True"}
    name = jobs(api)[0]["metadata"]["name"]
    where = api.collection("pytorchjobs", NAMESPACE)
    api.store.patch(where, name, {"status": {"conditions": [condition]}})


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, ExitCode.SIGTERM), (signal.SIGINT, ExitCode.SIGINT)]
)
def test_signal_deletes_the_job_and_gives_its_code(
    api: ApiThread, start: Start, number: signal.Signals, code: ExitCode
) -> None:
    """143 or 130, and nothing is left."""
    process = start()
    until(lambda: api.call(jobs))
    api.call(run_pod)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)

    assert process.returncode == code
    assert api.call(jobs) == []
    assert "Traceback" not in said
    assert said.count("deleting PyTorchJob") == 1


def test_second_signal_ends_at_once(api: ApiThread, start: Start) -> None:
    """Without waiting for the deletion."""
    api.call(lambda server: setattr(server.store, "hold_deletions", True))
    process = start()
    until(lambda: api.call(jobs))
    process.send_signal(signal.SIGTERM)
    until(lambda: api.call(lambda server: [r for r in server.requests if r.method == "DELETE"]))
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert process.returncode == ExitCode.SIGTERM
    assert time.monotonic() - began < 10
    assert len(api.call(jobs)) == 1


def test_kill_leaves_a_job_that_the_next_try_attaches_to(api: ApiThread, start: Start) -> None:
    """SIGKILL gives dlf no chance; the retry goes on with the same job."""
    task = {"KFJ_RUN_ID": "r", "KFJ_TASK_ID": "7"}
    first = start(**task)
    until(lambda: api.call(jobs))
    first.kill()
    first.communicate(timeout=60)
    second = start(**task)
    assert second.stderr
    first_line = second.stderr.readline()
    api.call(fail_job)
    second.communicate(timeout=60)

    assert "attached to PyTorchJob" in first_line
    assert second.returncode == ExitCode.FAILED
    assert len(api.call(jobs)) == 1


def test_head_gets_its_line_and_the_job_its_result(
    api: ApiThread, start: Start, tmp_path: Path
) -> None:
    """`dlf ... | head -1`: no traceback, and the report is of the job's end."""
    report = tmp_path / "report.json"
    process = start("--report", str(report))
    assert process.stdout
    until(lambda: api.call(jobs))
    pod = api.call(run_pod)
    api.call(lambda server: server.logs.of(NAMESPACE, pod, "pytorch").write("first"))
    assert process.stdout.readline() == f"{pod} first\n"
    process.stdout.close()
    process.stdout = None
    api.call(lambda server: server.logs.of(NAMESPACE, pod, "pytorch").write("second"))
    api.call(fail_job)
    _, said = process.communicate(timeout=60)

    assert process.returncode == ExitCode.FAILED
    assert "Traceback" not in said
    assert "BrokenPipe" not in said
    assert '"result": "failed"' in report.read_text()
