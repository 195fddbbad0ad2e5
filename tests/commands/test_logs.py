"""`dlf logs`: the logs of a job that dlf did not start."""

import pytest
from commands.console import NAMESPACE, Console
from fake_api import FakeApi
from waiting import beside, until

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
        until(lambda: "one" in cluster.stdout.read_text())
        cluster.api.call(end)

    with beside(act):
        code = cluster.run("logs", "job")

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


HOUR = ["2026-01-02T03:00:00.1Z", "2026-01-02T03:00:00.2Z", "2026-01-02T03:00:01.5Z"]


def timed(cluster: Console, ended: bool = True) -> None:
    """A job whose master has printed a line at each time of HOUR: `loss 0`, `loss 1`, `bye 2`."""
    cluster.pytorchjob("job", "Succeeded" if ended else "Running")
    pod = cluster.pod("job", code=0 if ended else None)

    def write(api: FakeApi) -> None:
        log = api.logs.of(NAMESPACE, pod, "pytorch")
        for number, (time_, word) in enumerate(zip(HOUR, ["loss", "loss", "bye"], strict=True)):
            log.write(f"{word} {number}", at=time_)
        log.wake()

    cluster.api.call(write)


@pytest.mark.parametrize(
    ("flags", "printed"),
    [
        (["--prefix", "short"], ["master-0 loss 0", "master-0 loss 1", "master-0 bye 2"]),
        (["--prefix", "none"], ["loss 0", "loss 1", "bye 2"]),
        (
            ["--prefix=none", "-t"],
            [
                f"{time_} {line}"
                for time_, line in zip(HOUR, ["loss 0", "loss 1", "bye 2"], strict=True)
            ],
        ),
        (["--prefix=none", "--include", "loss"], ["loss 0", "loss 1"]),
        (["--prefix=none", "-i", "bye", "-i", "0$"], ["loss 0", "bye 2"]),
        (["--prefix=none", "-i", "loss", "-e", "1"], ["loss 0"]),
        (["--prefix=none", "--tail", "2"], ["loss 1", "bye 2"]),
        (["--prefix=none", "--tail", "0"], []),
        (["--prefix=none", "--tail=9"], ["loss 0", "loss 1", "bye 2"]),
        (["--prefix=none", "--since_time", "2026-01-02T03:00:00.15Z"], ["loss 1", "bye 2"]),
        (["--prefix=none", "--since-time", "2026-01-02T11:00:01+08:00"], ["bye 2"]),
        (["--prefix=none", "--since", "1h"], []),
        (["--prefix=none", "-c", "^pytorch$"], ["loss 0", "loss 1", "bye 2"]),
        (["--prefix=none", "-c", "istio"], []),
        (["--prefix=none", "-f"], ["loss 0", "loss 1", "bye 2"]),
        (
            ["--prefix=none", "-l", "training.kubeflow.org/replica-type=master"],
            ["loss 0", "loss 1", "bye 2"],
        ),
    ],
)
@pytest.mark.parametrize("follow", [[], ["--no_follow"]])
def test_lines_are_chosen(
    cluster: Console, flags: list[str], printed: list[str], follow: list[str]
) -> None:
    """As `kubectl logs` and stern choose them, with the same words."""
    timed(cluster)

    assert cluster.run("logs", "job", *flags, *follow) == ExitCode.SUCCEEDED
    assert cluster.out.splitlines() == printed


def test_pods_are_chosen_by_label(cluster: Console) -> None:
    """Where none has it, that is said."""
    timed(cluster)

    assert cluster.run("logs", "job", "--selector", "a=b") == ExitCode.SUCCEEDED
    assert (cluster.out, cluster.said) == (
        "",
        ["PyTorchJob job has no pods that match a=b, so there are no logs"],
    )


def test_previous_instance_alone_is_printed(cluster: Console) -> None:
    """Its log is what explains a restart."""
    cluster.pytorchjob("job", "Running")
    pod = cluster.pod("job", "after")

    def restart(api: FakeApi) -> None:
        before = {"terminated": {"exitCode": 1, "containerID": "c://before"}}
        status = {
            "name": "pytorch",
            "containerID": "c://now",
            "restartCount": 1,
            "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}},
            "lastState": before,
        }
        pods = api.collection("pods", NAMESPACE)
        api.store.patch(pods, pod, {"status": {"containerStatuses": [status]}})
        api.logs.of(NAMESPACE, pod, "pytorch").end()
        api.logs.restart(NAMESPACE, pod, "pytorch").write("second")

    cluster.api.call(restart)

    assert cluster.run("logs", "job", "--previous", "--prefix", "none") == ExitCode.SUCCEEDED
    assert cluster.out == "after\n"


def test_logs_of_several_jobs_are_one_stream(cluster: Console) -> None:
    """Pods' names tell the jobs apart; a name that is given twice is printed once."""
    for name in ("first", "second"):
        cluster.pytorchjob(name, "Succeeded")
        cluster.pod(name, f"of {name}", code=0)

    assert cluster.run("logs", "first", "second", "first") == ExitCode.SUCCEEDED
    assert sorted(cluster.out.splitlines()) == [
        "first-master-0 of first",
        "second-master-0 of second",
    ]


@pytest.mark.parametrize("follow", [[], ["--no_follow"]])
def test_logs_of_several_jobs_have_short_prefixes_with_the_job(
    cluster: Console, follow: list[str]
) -> None:
    """Two masters would look alike; ranks count within each job."""
    for name in ("first", "second"):
        cluster.pytorchjob(name, "Succeeded")
        cluster.pod(name, f"of {name}", code=0)

    words = ["logs", "first", "second", "--prefix", "short", "--log_ranks", "-1", *follow]
    assert cluster.run(*words) == ExitCode.SUCCEEDED
    assert sorted(cluster.out.splitlines()) == [
        "first/master-0 of first",
        "second/master-0 of second",
    ]


def test_logs_of_several_jobs_go_on_until_the_last_has_ended(cluster: Console) -> None:
    """One that has ended does not hold up the lines of one that runs."""
    cluster.pytorchjob("ended", "Succeeded")
    cluster.pod("ended", "done", code=0)
    cluster.pytorchjob("runs", "Running")
    pod = cluster.pod("runs", "one")

    def end(api: FakeApi) -> None:
        log = api.logs.of(NAMESPACE, pod, "pytorch")
        log.write("two")
        log.end()
        state = {"terminated": {"exitCode": 0, "startedAt": "2026-01-02T03:04:05Z"}}
        status = {"name": "pytorch", "containerID": f"c://{pod}", "state": state}
        whole = {"phase": "Succeeded", "containerStatuses": [status]}
        api.store.patch(api.collection("pods", NAMESPACE), pod, {"status": whole})
        conditions = [{"type": "Succeeded", "status": "True"}]
        jobs = api.collection("pytorchjobs", NAMESPACE)
        api.store.patch(jobs, "runs", {"status": {"conditions": conditions}})

    def act() -> None:
        first = {"ended-master-0 done", "runs-master-0 one"}
        until(lambda: first <= {*cluster.stdout.read_text().splitlines()})
        cluster.api.call(end)

    with beside(act):
        code = cluster.run("logs", "ended", "runs")

    assert code == ExitCode.SUCCEEDED
    assert sorted(cluster.out.splitlines()) == [
        "ended-master-0 done",
        "runs-master-0 one",
        "runs-master-0 two",
    ]


def test_logs_of_several_jobs_are_not_begun_when_one_is_not_there(cluster: Console) -> None:
    """As `status` and `delete`: a wrong name is found out before anything is done."""
    cluster.pytorchjob("there", "Succeeded")
    cluster.pod("there", "line", code=0)

    assert cluster.run("logs", "there", "nope") == ExitCode.NOT_FOUND
    assert (cluster.out, cluster.said) == (
        "",
        ["there is no job 'nope' in namespace ml; see dlf list"],
    )


def test_pods_of_several_jobs_have_colours_of_their_own(cluster: Console) -> None:
    """They are assigned in turn over all jobs."""
    cluster.env["CLICOLOR_FORCE"] = "1"
    for name in ("first", "second"):
        cluster.pytorchjob(name, "Succeeded")
        cluster.pod(name, "x", code=0)

    cluster.run("logs", "first", "second")
    assert len({line.partition("m")[0] for line in cluster.out.splitlines()}) == 2
