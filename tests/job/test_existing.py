"""Earlier jobs of the same task: attached to, replaced, or refused; those of others left alone."""

import asyncio

from job.histories import JOB, succeed, three_pods
from job.play import play
from job.stage import Stage

from dlf.errors import ExitCode, Rejected


def running(stage: Stage, name: str) -> list[str]:
    """An earlier job, all of whose pods run and have printed a line."""
    stage.earlier(name)
    stage.condition(name, "Created", "Running")
    pods = [
        stage.pod(name, "master", 0),
        stage.pod(name, "worker", 0),
        stage.pod(name, "worker", 1),
    ]
    for pod in pods:
        stage.runs(pod, "before")
    return pods


async def end_of(stage: Stage, name: str) -> None:
    """The job of that name succeeds once dlf follows it."""
    await stage.heard(f"{name} running" if name == JOB else "attached")
    pods = [f"{name}-{role}" for role in ("master-0", "worker-0", "worker-1")]
    await succeed(stage, name, pods)


async def fresh(stage: Stage) -> None:
    """dlf submits a job of its own, and it succeeds."""
    await stage.until(lambda: stage.api.store.find(stage.jobs, JOB) is not None)
    await succeed(stage, *(await three_pods(stage, JOB)))


def test_live_job_of_this_task_is_attached_to_with_its_logs_from_the_start() -> None:
    """After a SIGKILL of dlf, the next try follows the same job, and prints what was missed."""

    async def history(stage: Stage) -> None:
        await end_of(stage, "earlier")

    played = play(history, before=lambda stage: running(stage, "earlier"))

    assert played.code == ExitCode.SUCCEEDED
    assert played.jobs == ["earlier"]
    assert played.asked("POST", "pytorchjobs") == []
    assert sorted(played.out) == [
        f"earlier-{role} before" for role in ("master-0", "worker-0", "worker-1")
    ]
    assert "attached to PyTorchJob earlier, which this task started before" in played.said


def test_finished_job_is_replaced_after_it_and_its_pods_are_gone() -> None:
    """A new job is created only when nothing of the old one holds a card any more."""

    async def history(stage: Stage) -> None:
        await stage.heard("deleting PyTorchJob earlier")
        await asyncio.sleep(100)
        assert [job["metadata"]["name"] for job in stage.api.store.list(stage.jobs)] == ["earlier"]
        stage.api.store.remove(stage.jobs, "earlier")
        await fresh(stage)

    def before(stage: Stage) -> None:
        running(stage, "earlier")
        stage.condition("earlier", "Created", "-Running", "Failed")
        stage.api.store.hold_deletions = True

    played = play(history, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert played.jobs == [JOB]
    assert played.said[0] == "deleting PyTorchJob earlier, an earlier job of this task"


def test_pods_that_stay_after_their_job_are_waited_for() -> None:
    """The job object may be gone before its pods: they are waited for by themselves."""

    async def history(stage: Stage) -> None:
        await stage.heard("deleting PyTorchJob earlier")
        await asyncio.sleep(100)
        assert stage.api.store.list(stage.jobs) == []
        stage.api.store.remove(stage.pods, "earlier-worker-0")
        await fresh(stage)

    def before(stage: Stage) -> None:
        stage.earlier("earlier")
        stage.condition("earlier", "Failed")
        stage.runs(stage.pod("earlier", "worker", 0))
        orphan = {"metadata": {"ownerReferences": None}}
        stage.api.store.patch(stage.pods, "earlier-worker-0", orphan)

    played = play(history, before=before)

    assert played.code == ExitCode.SUCCEEDED


def test_live_job_with_another_spec_is_replaced() -> None:
    """The same task with a changed command does not follow the job of the old command."""

    def before(stage: Stage) -> None:
        stage.earlier("earlier", digest="another")
        stage.condition("earlier", "Created", "Running")

    played = play(fresh, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert played.jobs == [JOB]


def test_live_job_with_another_spec_is_attached_to_on_demand() -> None:
    """`--on_existing attach` does not look at the spec."""

    def before(stage: Stage) -> None:
        running(stage, "earlier")
        annotations = {"metadata": {"annotations": {"dlf/spec-hash": "another"}}}
        stage.api.store.patch(stage.jobs, "earlier", annotations)

    async def history(stage: Stage) -> None:
        await end_of(stage, "earlier")

    played = play(history, "--on_existing", "attach", before=before)

    assert (played.code, played.jobs) == (ExitCode.SUCCEEDED, ["earlier"])


def test_live_job_is_replaced_on_demand() -> None:
    """`--on_existing replace` deletes what could have been attached to."""
    played = play(
        fresh,
        "--on_existing",
        "replace",
        before=lambda stage: running(stage, "earlier"),
    )

    assert (played.code, played.jobs) == (ExitCode.SUCCEEDED, [JOB])


def test_any_job_of_this_task_is_refused_on_demand() -> None:
    """`--on_existing fail` neither creates nor deletes."""

    async def history(stage: Stage) -> None:
        pass

    played = play(history, "--on_existing", "fail", before=lambda stage: running(stage, "earlier"))

    assert played.code == ExitCode.REJECTED
    assert str(played.error) == "this task already has PyTorchJob earlier"
    assert played.jobs == ["earlier"]
    assert not [request for request in played.requests if request.startswith(("DEL", "POST"))]


def test_job_that_is_being_deleted_is_waited_for_and_replaced() -> None:
    """Nothing attaches to a job that is on its way out."""

    def before(stage: Stage) -> None:
        running(stage, "earlier")
        stage.api.store.hold_deletions = True
        stage.api.store.delete(stage.jobs, "earlier", foreground=True)

    async def history(stage: Stage) -> None:
        await stage.heard("deleting PyTorchJob earlier")
        await asyncio.sleep(30)
        stage.api.store.remove(stage.jobs, "earlier")
        await fresh(stage)

    played = play(history, before=before)

    assert (played.code, played.jobs) == (ExitCode.SUCCEEDED, [JOB])


def test_job_that_does_not_go_away_ends_in_the_start_timeout() -> None:
    """A pod on a dead node does not make the step hang."""

    def before(stage: Stage) -> None:
        running(stage, "earlier")
        stage.condition("earlier", "Failed")
        stage.api.store.hold_deletions = True

    async def history(stage: Stage) -> None:
        pass

    played = play(history, "--start_timeout", "10m", before=before)

    assert played.code == ExitCode.TIMEOUT
    assert played.said[-1] == (
        f"PyTorchJob {JOB} could not be submitted in time: "
        "an earlier job of this task, or one of its pods, is not gone yet"
    )
    assert 600 <= played.ended < 601


def test_jobs_of_other_tasks_are_never_touched() -> None:
    """Not those of a sibling task of the same run, nor those whose labels only look the same."""

    def before(stage: Stage) -> None:
        stage.earlier("sibling", task="8")
        stage.earlier("other-run", run="run-2")
        stage.earlier("lookalike")
        original = {"metadata": {"annotations": {"dlf/task-id": "7/"}}}
        stage.api.store.patch(stage.jobs, "lookalike", original)

    played = play(fresh, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert played.jobs == ["lookalike", "other-run", JOB, "sibling"]
    assert played.asked("DELETE", "pytorchjobs") == []


def test_name_that_another_task_holds_is_not_deleted() -> None:
    """A 409 that is not ours ends dlf with 3."""

    async def history(stage: Stage) -> None:
        pass

    played = play(history, before=lambda stage: stage.earlier(JOB, task="8"))

    assert played.code == ExitCode.REJECTED
    assert isinstance(played.error, Rejected)
    assert "already exists" in str(played.error)
    assert played.jobs == [JOB]
    assert played.asked("DELETE", "pytorchjobs") == []


def test_create_whose_answer_is_lost_is_recognised() -> None:
    """A 409 that carries our nonce is our own job."""

    def before(stage: Stage) -> None:
        stage.api.fail(verb="create", path="pytorchjobs", close=True, done_first=True)

    played = play(fresh, before=before)

    assert played.code == ExitCode.SUCCEEDED
    assert len(played.asked("POST", "pytorchjobs")) == 2
    assert played.jobs == [JOB]
