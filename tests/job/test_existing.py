"""Earlier jobs of the same task: attached to, replaced, or refused; those of others left alone."""

import asyncio

import pytest
from job.pytorch_histories import JOB, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode, Rejected


def running(cluster: SimulatedCluster, name: str) -> list[str]:
    """An earlier job, all of whose pods run and have printed a line."""
    cluster.earlier(name)
    cluster.condition(name, "Created", "Running")
    pods = [
        cluster.pod(name, "master", 0),
        cluster.pod(name, "worker", 0),
        cluster.pod(name, "worker", 1),
    ]
    for pod in pods:
        cluster.runs(pod, "before")
    return pods


async def end_of(cluster: SimulatedCluster, name: str) -> None:
    """The job of that name succeeds once dlf follows it."""
    await cluster.until_message(f"{name} running" if name == JOB else "attached")
    pods = [f"{name}-{role}" for role in ("master-0", "worker-0", "worker-1")]
    await succeed(cluster, name, pods)


async def fresh(cluster: SimulatedCluster) -> None:
    """dlf submits a job of its own, and it succeeds."""
    await cluster.until(lambda: cluster.api.store.find(cluster.jobs, JOB) is not None)
    await succeed(cluster, *(await three_pods(cluster, JOB)))


def test_live_job_of_this_task_is_attached_to_with_its_logs_from_the_start() -> None:
    """After a SIGKILL of dlf, the next try follows the same job, and prints what was missed."""

    async def history(cluster: SimulatedCluster) -> None:
        await end_of(cluster, "earlier")

    result = run_scenario(history, before=lambda cluster: running(cluster, "earlier"))

    assert result.code == ExitCode.SUCCEEDED
    assert result.jobs == ["earlier"]
    assert result.asked("POST", "pytorchjobs") == []
    assert sorted(result.out) == [
        f"earlier-{role} before" for role in ("master-0", "worker-0", "worker-1")
    ]
    assert "attached to PyTorchJob earlier, which this task started before" in result.messages


def test_finished_job_is_replaced_after_it_and_its_pods_are_gone() -> None:
    """A new job is created only when nothing of the old one holds an accelerator any more."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("deleting PyTorchJob earlier")
        await asyncio.sleep(100)
        assert [job["metadata"]["name"] for job in cluster.api.store.list(cluster.jobs)] == [
            "earlier"
        ]
        cluster.api.store.remove(cluster.jobs, "earlier")
        await fresh(cluster)

    def before(cluster: SimulatedCluster) -> None:
        running(cluster, "earlier")
        cluster.condition("earlier", "Created", "-Running", "Failed")
        cluster.api.store.hold_deletions = True

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert result.jobs == [JOB]
    assert result.messages[0] == "deleting PyTorchJob earlier, an earlier job of this task"


def test_pods_that_stay_after_their_job_are_waited_for() -> None:
    """The job object may be gone before its pods: they are waited for by themselves."""

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("deleting PyTorchJob earlier")
        await asyncio.sleep(100)
        assert cluster.api.store.list(cluster.jobs) == []
        cluster.api.store.remove(cluster.pods, "earlier-worker-0")
        await fresh(cluster)

    def before(cluster: SimulatedCluster) -> None:
        cluster.earlier("earlier")
        cluster.condition("earlier", "Failed")
        cluster.runs(cluster.pod("earlier", "worker", 0))
        orphan = {"metadata": {"ownerReferences": None}}
        cluster.api.store.patch(cluster.pods, "earlier-worker-0", orphan)

    result = run_scenario(history, before=before)

    assert result.code == ExitCode.SUCCEEDED


@pytest.mark.parametrize("phase", ["Terminating", "Aborting"])
def test_job_that_volcano_is_ending_is_no_live_job(phase: str) -> None:
    """The retry of a step meets the job of the try before: nothing leads back from there."""

    def before(cluster: SimulatedCluster) -> None:
        cluster.earlier("earlier", state={"phase": phase})

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("submitted")
        cluster.phase(await cluster.job(), "Completed")

    result = run_scenario(history, framework="mindspore", before=before)

    assert (result.code, result.count("attached")) == (ExitCode.SUCCEEDED, 0)
    assert "earlier" not in result.jobs


def test_live_job_with_another_spec_is_replaced() -> None:
    """The same task with a changed command does not follow the job of the old command."""

    def before(cluster: SimulatedCluster) -> None:
        cluster.earlier("earlier", digest="another")
        cluster.condition("earlier", "Created", "Running")

    result = run_scenario(fresh, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert result.jobs == [JOB]


def test_live_job_with_another_spec_is_attached_to_on_demand() -> None:
    """`--on_existing attach` does not look at the spec."""

    def before(cluster: SimulatedCluster) -> None:
        running(cluster, "earlier")
        annotations = {"metadata": {"annotations": {"dlf/spec-hash": "another"}}}
        cluster.api.store.patch(cluster.jobs, "earlier", annotations)

    async def history(cluster: SimulatedCluster) -> None:
        await end_of(cluster, "earlier")

    result = run_scenario(history, "--on_existing", "attach", before=before)

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, ["earlier"])


def test_live_job_is_replaced_on_demand() -> None:
    """`--on_existing replace` deletes what could have been attached to."""
    result = run_scenario(
        fresh,
        "--on_existing",
        "replace",
        before=lambda cluster: running(cluster, "earlier"),
    )

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, [JOB])


def test_any_job_of_this_task_is_refused_on_demand() -> None:
    """`--on_existing fail` neither creates nor deletes."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    result = run_scenario(
        history, "--on_existing", "fail", before=lambda cluster: running(cluster, "earlier")
    )

    assert result.code == ExitCode.REJECTED
    assert str(result.error) == "this task already has PyTorchJob earlier"
    assert result.jobs == ["earlier"]
    assert not [request for request in result.requests if request.startswith(("DEL", "POST"))]


def test_job_that_is_being_deleted_is_waited_for_and_replaced() -> None:
    """Nothing attaches to a job that is on its way out."""

    def before(cluster: SimulatedCluster) -> None:
        running(cluster, "earlier")
        cluster.api.store.hold_deletions = True
        cluster.api.store.delete(cluster.jobs, "earlier", foreground=True)

    async def history(cluster: SimulatedCluster) -> None:
        await cluster.until_message("waiting until PyTorchJob earlier")
        await asyncio.sleep(30)
        cluster.api.store.remove(cluster.jobs, "earlier")
        await fresh(cluster)

    result = run_scenario(history, before=before)

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, [JOB])


def test_job_that_does_not_go_away_ends_in_the_start_timeout() -> None:
    """A pod on a dead node does not make the step hang."""

    def before(cluster: SimulatedCluster) -> None:
        running(cluster, "earlier")
        cluster.condition("earlier", "Failed")
        cluster.api.store.hold_deletions = True

    async def history(cluster: SimulatedCluster) -> None:
        pass

    result = run_scenario(history, "--start_timeout", "10m", before=before)

    assert result.code == ExitCode.TIMEOUT
    assert result.messages[-1] == (
        f"PyTorchJob {JOB} could not be submitted in time: "
        "an earlier job of this task, or one of its pods, is not gone yet"
    )
    assert 600 <= result.ended < 601


def test_jobs_of_other_tasks_are_never_touched() -> None:
    """Not those of a sibling task of the same run, nor those whose labels only look the same."""

    def before(cluster: SimulatedCluster) -> None:
        cluster.earlier("sibling", task="8")
        cluster.earlier("other-run", run="run-2")
        cluster.earlier("lookalike")
        original = {"metadata": {"annotations": {"dlf/task-id": "7/"}}}
        cluster.api.store.patch(cluster.jobs, "lookalike", original)

    result = run_scenario(fresh, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert result.jobs == ["lookalike", "other-run", JOB, "sibling"]
    assert result.asked("DELETE", "pytorchjobs") == []


def test_name_that_another_task_holds_is_not_deleted() -> None:
    """A 409 that is not ours ends dlf with 3."""

    async def history(cluster: SimulatedCluster) -> None:
        pass

    result = run_scenario(history, before=lambda cluster: cluster.earlier(JOB, task="8"))

    assert result.code == ExitCode.REJECTED
    assert isinstance(result.error, Rejected)
    assert "already exists" in str(result.error)
    assert result.jobs == [JOB]
    assert result.asked("DELETE", "pytorchjobs") == []


def test_create_whose_answer_is_lost_is_recognised() -> None:
    """A 409 that carries our nonce is our own job."""

    def before(cluster: SimulatedCluster) -> None:
        cluster.api.fail(verb="create", path="pytorchjobs", close=True, done_first=True)

    result = run_scenario(fresh, before=before)

    assert result.code == ExitCode.SUCCEEDED
    assert len(result.asked("POST", "pytorchjobs")) == 2
    assert result.jobs == [JOB]
