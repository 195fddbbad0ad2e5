"""Honest success: what is said, and done, when not all pods of a job that succeeded did."""

import asyncio

from fake_api.store import Collection
from job.histories import FIRST, JOB, SECOND, succeed, three_pods
from job.play import Played, play
from job.stage import NAMESPACE, Stage

from dlf.errors import ExitCode


async def one_failed(stage: Stage) -> None:
    """The master succeeds although a worker did not."""
    job, pods = await three_pods(stage)
    stage.ends(pods[2], 3)
    for pod in pods[:2]:
        stage.ends(pod)
    stage.condition(job, "Created", "-Running", "Succeeded")


def commands(played: Played) -> list[str]:
    """The actions that Volcano was asked for."""
    where = Collection("bus.volcano.sh", "commands", NAMESPACE)
    return [str(command["action"]) for command in played.api.store.list(where)]


def test_worker_that_failed_is_reported() -> None:
    """The job counts as succeeded, but not silently."""
    played = play(one_failed)

    assert played.code == ExitCode.SUCCEEDED
    assert played.said[-2:] == [
        f"PyTorchJob {JOB} succeeded",
        f"  note: although the job succeeded, pod {SECOND} (worker, rank 2): "
        "exit code 3, on node node-1",
    ]


def test_worker_that_failed_is_a_failure_with_strict() -> None:
    """`--strict` makes it exit 1, with the pod as the cause."""
    played = play(one_failed, "--strict")

    assert played.code == ExitCode.FAILED
    assert (
        f"PyTorchJob {JOB} succeeded, but not all its pods: pod {SECOND} (worker, rank 2): "
        "exit code 3, on node node-1"
    ) in played.said


def test_strict_does_not_mind_pods_that_the_operator_stops() -> None:
    """A worker that is deleted after the end has not failed, whatever its exit code."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.ends(pods[0])
        for pod in pods[1:]:
            stage.deletes(pod)
            stage.ends(pod, 1)
        stage.condition(job, "Created", "-Running", "Succeeded")

    played = play(history, "--strict")

    assert played.code == ExitCode.SUCCEEDED
    assert played.said[-1] == f"PyTorchJob {JOB} succeeded"


def test_worker_that_still_runs_is_reported_and_stopped() -> None:
    """By the operator's own means: it cleans up by a policy that dlf sets then."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.ends(pods[0])
        stage.condition(job, "Created", "-Running", "Succeeded")
        await stage.until(lambda: policy(stage) == "Running")
        for pod in pods[1:]:
            stage.deletes(pod)

    def policy(stage: Stage) -> str:
        return str(stage.api.store.get(stage.jobs, JOB)["spec"]["runPolicy"]["cleanPodPolicy"])

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.jobs == [JOB]
    note = f"  note: still running although the job has ended: {FIRST}, {SECOND}"
    assert note in played.said


def test_job_is_deleted_when_its_operator_does_not_stop_the_rest() -> None:
    """Pods must not hold cards for ever."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.ends(pods[0])
        stage.condition(job, "Created", "-Running", "Succeeded")

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert (played.jobs, played.pods) == ([], [])
    assert f"deleting PyTorchJob {JOB}: its operator does not stop its pods" in played.said


def test_result_stands_when_the_rest_cannot_be_stopped() -> None:
    """One refused call never ends the step."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.denied = {
            ("patch", "pytorchjobs.kubeflow.org"),
            ("delete", "pytorchjobs.kubeflow.org"),
        }
        stage.ends(pods[0])
        stage.condition(job, "Created", "-Running", "Succeeded")

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count(f"pods of PyTorchJob {JOB} may still run: cannot delete") == 1


def test_mpi_workers_that_the_operator_stops_are_no_news() -> None:
    """cleanPodPolicy Running: they sleep until the operator deletes them."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        stage.condition(job, "Created", "Running")
        launcher = stage.pod(job, "launcher", 0, "mpi")
        pods = [launcher, *(stage.pod(job, "worker", index, "mpi") for index in range(2))]
        for pod in pods:
            stage.runs(pod)
        await asyncio.sleep(60)
        stage.ends(launcher)
        stage.condition(job, "Created", "-Running", "Succeeded")

    played = play(history, framework="mpi", plural="mpijobs")

    assert played.code == ExitCode.SUCCEEDED
    assert not any("note" in line for line in played.said)
    assert played.asked("PATCH", "mpijobs") == []


async def workers(stage: Stage) -> list[str]:
    """Three workers of a Volcano job run."""
    job = await stage.job()
    pods = [stage.pod(job, "worker", index, "worker") for index in range(3)]
    for pod in pods:
        stage.runs(pod)
    stage.phase(job, "Running")
    await asyncio.sleep(1)
    return pods


def test_end_of_the_first_worker_is_the_end_of_a_deepspeed_job() -> None:
    """Volcano is told to complete it, so that the rest holds no cards."""

    async def history(stage: Stage) -> None:
        pods = await workers(stage)
        stage.ends(pods[0], 0, "saved")
        await stage.until(lambda: bool(stage.api.store.list(where)))
        for pod in pods[1:]:
            stage.deletes(pod)

    where = Collection("bus.volcano.sh", "commands", NAMESPACE)
    played = play(history, framework="deepspeed")

    assert played.code == ExitCode.SUCCEEDED
    (job,) = played.api.store.list(Collection("batch.volcano.sh", "jobs", NAMESPACE))
    (command,) = played.api.store.list(where)
    reference = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "deepspeed-demo-ab12",
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }
    assert command["metadata"]["ownerReferences"] == [reference]
    assert {key: command[key] for key in command if key != "metadata"} == {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "action": "CompleteJob",
        "target": reference,
    }
    assert "deepspeed-demo-ab12-worker-0 saved" in played.out


def test_job_is_deleted_where_volcano_may_not_be_told() -> None:
    """Without the permission for Commands."""

    async def history(stage: Stage) -> None:
        stage.api.denied = {("create", "commands.bus.volcano.sh")}
        stage.ends((await workers(stage))[0])

    played = play(history, framework="deepspeed")

    assert played.code == ExitCode.SUCCEEDED
    assert (played.jobs, played.pods) == ([], [])


def test_failure_of_the_first_worker_is_left_to_volcanos_policies() -> None:
    """They restart the job or end it."""

    async def history(stage: Stage) -> None:
        job = await stage.job()
        pods = await workers(stage)
        stage.ends(pods[0], 1)
        await asyncio.sleep(30)
        assert stage.task
        assert not stage.task.done()
        stage.phase(job, "Failed")

    played = play(history, framework="deepspeed")

    assert played.code == ExitCode.FAILED
    assert commands(played) == []


def test_all_pods_succeed_although_the_job_object_is_gone() -> None:
    """A finished job's time to live was over while the API server was away."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.api.fail(verb="watch", path="pytorchjobs", seconds=300, status=503)
        stage.api.end_watches("pytorchjobs")
        await succeed(stage, job, pods)
        await asyncio.sleep(1)
        stage.api.store.remove(stage.jobs, job)
        stage.api.store.compact()

    played = play(history)

    assert played.code == ExitCode.SUCCEEDED
    assert played.count("the job object was deleted before its result was seen") == 1


def test_result_in_the_event_of_the_deletion_counts() -> None:
    """The last state of a job that is deleted by its time to live is its result."""

    async def history(stage: Stage) -> None:
        job, pods = await three_pods(stage)
        stage.ends(pods[0], 1)
        await fail_and_vanish(stage, job)

    async def fail_and_vanish(stage: Stage, job: str) -> None:
        stage.condition(job, "Failed")
        stage.api.store.remove(stage.jobs, job)

    assert play(history).code == ExitCode.FAILED
