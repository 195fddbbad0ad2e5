"""`dlf list`, `status` and `delete`."""

import datetime
import json

import pytest
from commands.console import NAMESPACE, Console
from fake_api import FakeApi
from waiting import beside, until

from dlf.cli import COMMANDS
from dlf.errors import ExitCode


def test_list_shows_jobs_of_every_kind_the_newest_first(cluster: Console) -> None:
    """Kind, name, state, pods that run, age and task."""
    cluster.pytorchjob("first", "Created", "Running")
    cluster.pod("first")
    cluster.create(
        "jobs",
        "second",
        annotations={"dlf/spec-hash": "x", "dlf/task-name": "\u8bad\u7ec3"},
        labels={"task-name": "", "task-id": "8"},
        apiVersion="batch.volcano.sh/v1alpha1",
        kind="Job",
        spec={"tasks": [{"name": "worker", "replicas": 3}]},
        status={"state": {"phase": "Pending"}},
    )

    assert cluster.run("list") == ExitCode.SUCCEEDED
    head, *rows = [line.split() for line in cluster.out.splitlines()]
    assert head == ["KIND", "NAME", "STATE", "RUNNING", "AGE", "TASK"]
    assert sorted(row[:-2] + row[-1:] for row in rows) == [
        ["PyTorchJob", "first", "running", "1/1", "train"],
        ["Volcano", "Job", "second", "queued", "0/3", "\u8bad\u7ec3"],
    ]


def test_list_leaves_out_what_dlf_did_not_submit(cluster: Console) -> None:
    """Jobs without dlf's annotation are somebody else's."""
    cluster.pytorchjob("ours")
    cluster.pytorchjob("theirs", annotations={})

    cluster.run("list", "--output", "json")

    assert [row["name"] for row in json.loads(cluster.out)] == ["ours"]


def test_list_shows_an_mpi_job_once_that_is_served_in_two_versions(cluster: Console) -> None:
    """v1 and v2beta1 are two views of one object."""
    kind = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob"}
    cluster.create("mpijobs", "job", annotations={"dlf/spec-hash": "x"}, **kind)

    cluster.run("list", "--output", "json")

    assert len(json.loads(cluster.out)) == 1


def test_list_does_without_kinds_that_may_not_be_read(cluster: Console) -> None:
    """One refused kind hides only its own jobs."""
    cluster.pytorchjob("ours")
    cluster.api.call(lambda api: api.denied.add(("list", "tfjobs.kubeflow.org")))

    assert cluster.run("list") == ExitCode.SUCCEEDED
    assert "ours" in cluster.out


def test_list_says_so_when_there_is_nothing(cluster: Console) -> None:
    """On stderr: stdout stays empty for scripts."""
    assert cluster.run("list") == ExitCode.SUCCEEDED
    assert (cluster.out, cluster.said) == ("", ["no jobs of dlf in this namespace"])


def test_status_explains_a_job(cluster: Console) -> None:
    """Pods, conditions and events, each as a table."""
    cluster.pytorchjob("job", "Created", "Running")
    cluster.pod("job")
    cluster.create(
        "events",
        "e",
        type="Warning",
        reason="FailedMount",
        message="no volume",
        involvedObject={"name": "job-master-0"},
        lastTimestamp="2026-01-02T03:04:05Z",
    )
    cluster.create("events", "other", reason="Other", involvedObject={"name": "jobless"})

    assert cluster.run("status", "job") == ExitCode.SUCCEEDED
    headline, counts, *tables = cluster.out.splitlines()
    assert headline == "PyTorchJob job in namespace ml: running (JobRunning: it is so)"
    assert counts.startswith("1 of 1 pods running, ")
    assert counts.endswith(" old, task train")
    rows = [line.split() for line in tables if line]
    assert ["job-master-0", "0", "0", "node-1", "running", "on", "node-1"] in rows
    assert ["Running", "True", "JobRunning", "it", "is", "so"] in rows
    assert [row[1:] for row in rows if "FailedMount" in row] == [
        ["Warning", "job-master-0", "FailedMount", "no", "volume"]
    ]
    assert not any("Other" in row for row in rows)


def test_status_tells_the_same_to_machines(cluster: Console) -> None:
    """`--output json`."""
    cluster.pytorchjob("job", "Failed")
    cluster.pod("job", code=137)

    cluster.run("status", "job", "--output", "json")
    told = json.loads(cluster.out)

    assert (told["job"]["state"], told["job"]["total"]) == ("failed", 1)
    assert told["pods"][0]["state"] == "failed: exit code 137"
    assert told["conditions"][0]["type"] == "Failed"


def test_status_does_without_events_that_may_not_be_read(cluster: Console) -> None:
    """They only explain."""
    cluster.pytorchjob("job", "Running")
    cluster.api.call(lambda api: api.denied.add(("list", "events")))

    assert cluster.run("status", "job") == ExitCode.SUCCEEDED


@pytest.mark.parametrize("command", ["status", "delete", "logs"])
def test_job_that_does_not_exist_is_6(cluster: Console, command: str) -> None:
    """And the message says where it was looked for."""
    assert cluster.run(command, "nope") == ExitCode.NOT_FOUND
    assert cluster.said == ["there is no job 'nope' in namespace ml; see dlf list"]


@pytest.mark.parametrize("command", ["status", "delete", "logs"])
def test_job_of_nearly_the_same_name_is_proposed(cluster: Console, command: str) -> None:
    """Never one whose name only shares some letters."""
    cluster.pytorchjob("pytorchjob-mnist-0a1b")
    cluster.pytorchjob("pytorchjob-bert-77aa")

    assert cluster.run(command, "pytorchjob-mnist-0a1c") == ExitCode.NOT_FOUND
    assert cluster.said[0].endswith("; did you mean pytorchjob-mnist-0a1b?")


@pytest.mark.parametrize("command", ["status", "delete", "logs"])
def test_name_of_two_kinds_needs_the_kind(cluster: Console, command: str) -> None:
    """Exit 2, naming both; with `--kind` there is no doubt."""
    cluster.pytorchjob("twin", "Succeeded")
    cluster.pod("twin", code=0)
    cluster.create("tfjobs", "twin", apiVersion="kubeflow.org/v1", kind="TFJob")

    assert cluster.run(command, "twin") == ExitCode.USAGE
    assert cluster.said == ["'twin' is the name of a TFJob and a PyTorchJob; say which with --kind"]
    assert cluster.run(command, "twin", "--kind", "pytorchjob") == ExitCode.SUCCEEDED


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["status"], "JOB is missing; write dlf status JOB...", id="no name"),
        pytest.param(["list", "x"], "unexpected argument 'x'; write dlf list", id="excess"),
        pytest.param(["delete", "x", "--kind", "Pod"], "--kind='Pod' is not a kind", id="kind"),
        pytest.param(["list", "--wide"], "unknown flag '--wide'", id="flag"),
        pytest.param(["status", "x", "--output", "yaml"], "write one of text, json", id="output"),
    ],
)
def test_wrong_words_are_2(cluster: Console, words: list[str], complaint: str) -> None:
    """One line that says what to write."""
    assert cluster.run(*words) == ExitCode.USAGE
    assert complaint in cluster.said[0]


@pytest.mark.parametrize(
    "command", sorted({*COMMANDS} - {"ssh", "pdsh"})
)  # these have the options of ssh
def test_help_needs_no_cluster(cluster: Console, command: str) -> None:
    """It begins with the usage."""
    cluster.env["KUBECONFIG"] = "/nonexistent"

    assert cluster.run(command, "--help") == ExitCode.SUCCEEDED
    assert cluster.out.startswith(f"Usage:\n  dlf {command}")
    shown = cluster.out
    assert cluster.run("help", command) == ExitCode.SUCCEEDED
    assert shown == cluster.out


def test_delete_waits_until_nothing_is_left(cluster: Console) -> None:
    """Job and pods are gone when it ends."""
    cluster.pytorchjob("job", "Running")
    cluster.pod("job")

    assert cluster.run("delete", "job") == ExitCode.SUCCEEDED
    assert cluster.said == ["deleting PyTorchJob job"]
    assert cluster.api.call(_names) == []


def _names(api: FakeApi) -> list[str]:
    collections = [api.collection(plural, NAMESPACE) for plural in ("pytorchjobs", "pods")]
    return [thing["metadata"]["name"] for each in collections for thing in api.store.list(each)]


def test_list_shows_all_namespaces(cluster: Console) -> None:
    """With a column that tells them apart."""
    cluster.pytorchjob("ours")
    cluster.pytorchjob("theirs", namespace="other")

    assert cluster.run("list", "-A") == ExitCode.SUCCEEDED
    head, *rows = [line.split() for line in cluster.out.splitlines()]
    assert head[:3] == ["NAMESPACE", "KIND", "NAME"]
    assert sorted((row[0], row[2]) for row in rows) == [("ml", "ours"), ("other", "theirs")]


def test_list_goes_on_with_what_changes(cluster: Console) -> None:
    """Only the rows that changed are printed again, and jobs that are gone once."""
    cluster.pytorchjob("stays", "Running")
    cluster.pytorchjob("goes", "Running")

    def act() -> None:
        until(lambda: "goes" in cluster.stdout.read_text())
        jobs = cluster.api.call(lambda api: api.collection("pytorchjobs", NAMESPACE))
        cluster.api.call(lambda api: api.store.remove(jobs, "goes"))
        until(lambda: "deleted" in cluster.stdout.read_text())
        cluster.api.call(lambda api: api.denied.update({("list", each) for each in KINDS}))

    with beside(act):
        code = cluster.run("list", "--watch")

    assert code == ExitCode.REJECTED
    names = [line.split()[1:3] for line in cluster.out.splitlines()]
    assert sorted(names[1:3]) == [["goes", "running"], ["stays", "running"]]
    assert names[3:] == [["NAME", "STATE"], ["goes", "deleted"]]


KINDS = [
    f"{plural}.kubeflow.org"
    for plural in ("pytorchjobs", "tfjobs", "mpijobs", "paddlejobs", "mxjobs", "jaxjobs")
]
KINDS.append("jobs.batch.volcano.sh")


def test_status_of_several_jobs(cluster: Console) -> None:
    """One after another; a list in JSON."""
    cluster.pytorchjob("one", "Running")
    cluster.pytorchjob("two", "Failed")

    assert cluster.run("status", "one", "two") == ExitCode.SUCCEEDED
    assert [line for line in cluster.out.splitlines() if line.startswith("PyTorchJob ")] == [
        "PyTorchJob one in namespace ml: running (JobRunning: it is so)",
        "PyTorchJob two in namespace ml: failed (JobFailed: it is so)",
    ]
    cluster.run("status", "one", "two", "-o", "json")
    assert [each["job"]["name"] for each in json.loads(cluster.out)] == ["one", "two"]


def test_delete_of_several_jobs_deletes_none_when_one_is_missing(cluster: Console) -> None:
    """A wrong name is found out first."""
    cluster.pytorchjob("one")
    cluster.pytorchjob("two")

    assert cluster.run("delete", "one", "nope") == ExitCode.NOT_FOUND
    assert sorted(cluster.api.call(_names)) == ["one", "two"]
    assert cluster.run("delete", "one", "two") == ExitCode.SUCCEEDED
    assert cluster.api.call(_names) == []


@pytest.mark.parametrize("flags", [["--dry-run"], []])
def test_prune_deletes_what_ended_long_ago(cluster: Console, flags: list[str]) -> None:
    """Not what runs, what ended lately, and what dlf did not submit."""
    old = {"completionTime": "2020-01-02T03:04:05Z"}
    ended = [{"type": "Failed", "status": "True"}]
    lately = datetime.datetime.now(datetime.UTC).isoformat()
    cluster.pytorchjob("old", status={"conditions": ended, **old})
    cluster.pytorchjob("lately", status={"conditions": ended, "completionTime": lately})
    cluster.pytorchjob("runs", "Running")
    cluster.pytorchjob("theirs", status={"conditions": ended, **old}, annotations={})

    assert cluster.run("prune", "--older_than", "7d", *flags) == ExitCode.SUCCEEDED
    assert len(cluster.said) == 1
    assert "PyTorchJob old" in cluster.said[0]
    left = {"lately", "runs", "theirs"} | ({"old"} if flags else set())
    assert set(cluster.api.call(_names)) == left


def test_prune_needs_an_age(cluster: Console) -> None:
    """Nothing is deleted by a slip."""
    assert cluster.run("prune") == ExitCode.USAGE
    assert cluster.said == [
        "--older_than is missing; write dlf prune --older_than TIME, such as 7d"
    ]
