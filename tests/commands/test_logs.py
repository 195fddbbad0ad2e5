"""`dlf logs`: the logs of a job that dlf did not start."""

import threading
import time

import pytest
from commands.console import NAMESPACE, Console
from fake_api import FakeApi

from dlf.errors import ExitCode


def test_logs_of_a_job_that_has_ended_are_printed(cluster: Console) -> None:
    """0 because they were shown, although the job failed."""
    cluster.pytorchjob("job", "Failed")
    cluster.pod("job", "one", "two", code=1)

    assert cluster.run("logs", "job") == ExitCode.SUCCEEDED
    assert cluster.stdout.read_text() == "job-master-0 one\njob-master-0 two\n"


def test_logs_are_followed_until_the_job_ends(cluster: Console) -> None:
    """Lines that come later are printed, too."""
    cluster.pytorchjob("job", "Running")
    pod = cluster.pod("job", "one")

    def end(api: FakeApi) -> None:
        log = api.logs.of(NAMESPACE, pod, "pytorch")
        log.write("two")
        log.end()
        condition = {"type": "Succeeded", "status": "True"}
        state = {"terminated": {"exitCode": 0, "startedAt": "2026-01-02T03:04:05Z"}}
        status = {"name": "pytorch", "containerID": f"c://{pod}", "state": state}
        pods, jobs = (api.collection(plural, NAMESPACE) for plural in ("pods", "pytorchjobs"))
        whole = {"phase": "Succeeded", "containerStatuses": [status]}
        api.store.patch(pods, pod, {"status": whole})
        api.store.patch(jobs, "job", {"status": {"conditions": [condition]}})

    def act() -> None:
        while "one" not in cluster.stdout.read_text():
            time.sleep(0.01)
        cluster.api.call(end)

    acting = threading.Thread(target=act)
    acting.start()
    code = cluster.run("logs", "job")
    acting.join()

    assert code == ExitCode.SUCCEEDED
    assert cluster.stdout.read_text() == "job-master-0 one\njob-master-0 two\n"


def test_logs_are_dumped_without_waiting(cluster: Console) -> None:
    """`--no_follow` prints what there is of a job that runs on."""
    cluster.pytorchjob("job", "Running")
    cluster.pod("job", "one")

    assert cluster.run("logs", "job", "--no_follow", "--log_format", "json") == ExitCode.SUCCEEDED
    assert '"message":"one"' in cluster.stdout.read_text().replace(": ", ":")


@pytest.mark.parametrize("flags", [[], ["--no_follow"]])
def test_job_without_pods_has_no_logs(cluster: Console, flags: list[str]) -> None:
    """An empty output is explained."""
    cluster.pytorchjob("job", "Failed")

    assert cluster.run("logs", "job", *flags) == ExitCode.SUCCEEDED
    assert cluster.said == ["PyTorchJob job has no pods, so there are no logs"]
    assert cluster.out == ""


def test_logs_of_pods_whose_job_is_gone_are_printed(cluster: Console) -> None:
    """The pods may outlive the job object; followed, until they have ended."""
    cluster.pod("job", "one", code=0, owned=False)

    assert cluster.run("logs", "job") == ExitCode.SUCCEEDED
    assert cluster.stdout.read_text() == "job-master-0 one\n"
