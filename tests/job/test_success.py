"""Honest success: what is said, and done, when not all pods of a job that succeeded did."""

import asyncio

import pytest
from fake_api.store import Collection
from job.pytorch_histories import FIRST, JOB, SECOND, succeed, three_pods
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import NAMESPACE, SimulatedCluster
from job.test_interrupted import volcano_workers

from dlf.errors import ExitCode


async def one_failed(cluster: SimulatedCluster) -> None:
    """The master succeeds although a worker did not."""
    job, pods = await three_pods(cluster)
    cluster.ends(pods[2], 3)
    for pod in pods[:2]:
        cluster.ends(pod)
    cluster.condition(job, "Created", "-Running", "Succeeded")


def commands(result: ScenarioResult) -> list[str]:
    """The actions that Volcano was asked for."""
    where = Collection("bus.volcano.sh", "commands", NAMESPACE)
    return [str(command["action"]) for command in result.api.store.list(where)]


def test_worker_that_failed_is_reported() -> None:
    """The job counts as succeeded, but not silently."""
    result = run_scenario(one_failed)

    assert result.code == ExitCode.SUCCEEDED
    assert result.messages[-3:-1] == [
        f"PyTorchJob {JOB} succeeded",
        f"  note: although the job succeeded, pod {SECOND} (worker, rank 2): "
        "exit code 3, on node node-1",
    ]


def test_worker_that_failed_is_a_failure_with_strict() -> None:
    """`--strict` makes it exit 1, with the pod as the cause."""
    result = run_scenario(one_failed, "--strict")

    assert result.code == ExitCode.FAILED
    assert (
        f"PyTorchJob {JOB} succeeded, but not all its pods: pod {SECOND} (worker, rank 2): "
        "exit code 3, on node node-1"
    ) in result.messages


STORAGE = "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi."


async def _one_evicted(cluster: SimulatedCluster) -> str:
    """A worker beyond its limit of storage exits 0 on SIGTERM: its status tells nothing of it."""
    job, pods = await three_pods(cluster)
    cluster.evicted(pods[2], STORAGE)
    cluster.ends(pods[2])
    return job


def test_pod_whose_eviction_only_an_event_tells_is_the_first_cause() -> None:
    """Its peer fails later, and because of it."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await _one_evicted(cluster)
        await asyncio.sleep(2)
        cluster.ends(FIRST, 1)
        cluster.condition(job, "Created", "-Running", "Failed")

    result = run_scenario(history)

    assert result.code == ExitCode.FAILED
    cause = "Evicted, exit code 0, its node ran out of a resource, " + STORAGE
    assert (
        f"PyTorchJob {JOB} failed: pod {SECOND} (worker, rank 2): {cause}, on node node-1"
        " (and 1 more)"
    ) in result.messages


@pytest.mark.parametrize(
    ("flags", "code"), [([], ExitCode.SUCCEEDED), (["--strict"], ExitCode.FAILED)]
)
def test_pod_whose_eviction_only_an_event_tells_is_reported(
    flags: list[str], code: ExitCode
) -> None:
    """The job succeeds without it; `--strict` does not."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await _one_evicted(cluster)
        cluster.ends(FIRST)
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history, *flags)

    assert code == result.code
    assert any(f"pod {SECOND} (worker, rank 2): Evicted, " in line for line in result.messages)


def test_strict_does_not_mind_pods_that_the_operator_stops() -> None:
    """A worker that is deleted after the end has not failed, whatever its exit code."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0])
        for pod in pods[1:]:
            cluster.deletes(pod)
            cluster.ends(pod, 1)
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history, "--strict")

    assert result.code == ExitCode.SUCCEEDED
    assert result.messages[-2] == f"PyTorchJob {JOB} succeeded"


def test_worker_that_still_runs_is_reported_and_stopped() -> None:
    """By the operator's own means: it cleans up by a policy that dlf sets then."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0])
        cluster.condition(job, "Created", "-Running", "Succeeded")
        await cluster.until(lambda: policy(cluster) == "Running")
        for pod in pods[1:]:
            cluster.deletes(pod)

    def policy(cluster: SimulatedCluster) -> str:
        return str(cluster.api.store.get(cluster.jobs, JOB)["spec"]["runPolicy"]["cleanPodPolicy"])

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.jobs == [JOB]
    note = f"  note: still running although the job has ended: {FIRST}, {SECOND}"
    assert note in result.messages


def test_silent_worker_that_ends_right_after_the_job_does_not_run_on() -> None:
    """Where rank 0 alone prints, nothing in the logs shows that the others are about to end."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(60)
        cluster.ends(pods[0])
        cluster.condition(job, "Created", "-Running", "Succeeded")
        for pod in pods[1:]:
            await asyncio.sleep(1)
            cluster.ends(pod, 0, "bye")

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert [f"{pod} bye" for pod in (FIRST, SECOND)] == result.out[-2:]
    assert result.count("still running") == 0
    assert result.asked("PATCH", "pytorchjobs") == []


def test_job_is_deleted_when_its_operator_does_not_stop_the_rest() -> None:
    """Pods must not hold accelerators for ever."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0])
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert (result.jobs, result.pods) == ([], [])
    assert f"deleting PyTorchJob {JOB}: its operator does not stop its pods" in result.messages


@pytest.mark.parametrize("is_stopped", [True, False])
def test_peer_that_volcano_leaves_running_is_stopped(is_stopped: bool) -> None:
    """The pods show whether it stops them, not its rules; else the job is deleted."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await volcano_workers(cluster)
        cluster.ends(pods[1], 1)
        cluster.phase(job, "Failed")
        await asyncio.sleep(5)
        if is_stopped:
            cluster.deletes(pods[0])

    result = run_scenario(history, "--num_worker=2", framework="mindspore")

    assert result.code == ExitCode.FAILED
    assert len(result.jobs) == int(is_stopped)
    assert result.count("its operator does not stop its pods") == int(not is_stopped)


def test_result_stands_when_the_rest_cannot_be_stopped() -> None:
    """One refused call never ends the step."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.denied = {
            ("patch", "pytorchjobs.kubeflow.org"),
            ("delete", "pytorchjobs.kubeflow.org"),
        }
        cluster.ends(pods[0])
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count(f"pods of PyTorchJob {JOB} may still run: cannot delete") == 1


def test_mpi_workers_that_the_operator_stops_are_no_news() -> None:
    """cleanPodPolicy Running: they sleep until the operator deletes them."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        cluster.condition(job, "Created", "Running")
        launcher = cluster.pod(job, "launcher", 0, "mpi")
        pods = [launcher, *(cluster.pod(job, "worker", index, "mpi") for index in range(2))]
        for pod in pods:
            cluster.runs(pod)
        await asyncio.sleep(60)
        cluster.ends(launcher)
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history, framework="mpi", plural="mpijobs")

    assert result.code == ExitCode.SUCCEEDED
    assert not any("note" in line for line in result.messages)
    assert result.asked("PATCH", "mpijobs") == []


async def workers(cluster: SimulatedCluster) -> list[str]:
    """Three workers of a Volcano job run."""
    job = await cluster.job()
    pods = [cluster.pod(job, "worker", index, "worker") for index in range(3)]
    for pod in pods:
        cluster.runs(pod)
    cluster.phase(job, "Running")
    await asyncio.sleep(1)
    return pods


def test_end_of_the_first_worker_is_the_end_of_a_deepspeed_job() -> None:
    """Volcano is told to complete it, so that the rest holds no accelerators."""

    async def history(cluster: SimulatedCluster) -> None:
        pods = await workers(cluster)
        cluster.ends(pods[0], 0, "saved")
        await cluster.until(lambda: bool(cluster.api.store.list(where)))
        for pod in pods[1:]:
            cluster.deletes(pod)

    where = Collection("bus.volcano.sh", "commands", NAMESPACE)
    result = run_scenario(history, framework="deepspeed")

    assert result.code == ExitCode.SUCCEEDED
    (job,) = result.api.store.list(Collection("batch.volcano.sh", "jobs", NAMESPACE))
    (command,) = result.api.store.list(where)
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
    assert "deepspeed-demo-ab12-worker-0 saved" in result.out


def test_job_is_deleted_where_volcano_may_not_be_told() -> None:
    """Without the permission for Commands."""

    async def history(cluster: SimulatedCluster) -> None:
        cluster.api.denied = {("create", "commands.bus.volcano.sh")}
        cluster.ends((await workers(cluster))[0])

    result = run_scenario(history, framework="deepspeed")

    assert result.code == ExitCode.SUCCEEDED
    assert (result.jobs, result.pods) == ([], [])


def test_failure_of_the_first_worker_is_left_to_volcanos_policies() -> None:
    """They restart the job or end it."""

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        pods = await workers(cluster)
        cluster.ends(pods[0], 1)
        await asyncio.sleep(30)
        assert cluster.task
        assert not cluster.task.done()
        cluster.phase(job, "Failed")

    result = run_scenario(history, framework="deepspeed")

    assert result.code == ExitCode.FAILED
    assert commands(result) == []


def test_all_pods_succeed_although_the_job_object_is_gone() -> None:
    """A finished job's time to live was over while the API server was away."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.fail(verb="watch", path="pytorchjobs", seconds=300, status=503)
        cluster.api.end_watches("pytorchjobs")
        await succeed(cluster, job, pods)
        await asyncio.sleep(1)
        cluster.api.store.remove(cluster.jobs, job)
        cluster.api.store.compact()

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("the job object was deleted before its result was seen") == 1


def test_result_in_the_event_of_the_deletion_counts() -> None:
    """The last state of a job that is deleted by its time to live is its result."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 1)
        await fail_and_vanish(cluster, job)

    async def fail_and_vanish(cluster: SimulatedCluster, job: str) -> None:
        cluster.condition(job, "Failed")
        cluster.api.store.remove(cluster.jobs, job)

    assert run_scenario(history).code == ExitCode.FAILED
