"""Containers that were injected into a pod: they neither keep the step, nor fail it."""

import asyncio

import pytest
from job.pytorch_histories import MASTER, fail, succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster
from job.test_interrupted import volcano_workers

from dlf.errors import ExitCode


@pytest.mark.parametrize("code", [137, 143, 2])
def test_native_sidecar_that_is_killed_at_the_end_is_no_failure(code: int) -> None:
    """The kubelet kills it when the training has ended; `--strict` does not count it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.injects(pod, "logs", native=True)
            cluster.ends(pod)
            cluster.ends_sidecar(pod, code, native=True)
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history, "--strict")

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("although the job succeeded") == 0


@pytest.mark.parametrize(
    ("codes", "expected"), [([0, 0, 0], ExitCode.SUCCEEDED), ([1, 1, 1], ExitCode.FAILED)]
)
def test_sidecar_that_outlives_the_training_does_not_keep_the_step(
    codes: list[int], expected: ExitCode
) -> None:
    """Whatever its name: it is told, and the job ends with the training's result, deleted."""

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await three_pods(cluster)
        for pod, code in zip(pods, codes, strict=True):
            cluster.injects(pod, "vault-agent")
            cluster.ends_training(pod, code)
        await cluster.until_message("the training has ended, but container vault-agent")
        assert 10 <= cluster.now() < 20

    result = run_scenario(history)

    assert result.code == expected
    assert 60 <= result.ended < 90
    assert (result.jobs, result.pods) == ([], [])
    assert result.count(f"container vault-agent of pod {MASTER} ran on") == 1


def test_master_decides_although_a_worker_trains_on() -> None:
    """As for the operator: the job is its master's."""

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await three_pods(cluster)
        cluster.injects(pods[0], "istio-proxy")
        cluster.ends_training(pods[0])

    result = run_scenario(history)

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, [])


def test_worker_that_waits_for_a_sidecar_ends_nothing() -> None:
    """A worker may end before the master; the job goes on as long as that trains."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.injects(pods[1], "istio-proxy")
        cluster.ends_training(pods[1])
        await asyncio.sleep(600)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count("the training has ended") == 0


def test_volcano_job_ends_when_the_training_of_all_its_pods_has() -> None:
    """Its policies look at phases of pods, which the sidecars keep at Running."""

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await volcano_workers(cluster)
        for pod in pods:
            cluster.injects(pod, "fluent-bit")
            cluster.ends_training(pod)

    result = run_scenario(history, "--num_worker=2", framework="mindspore")

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, [])


def test_leader_decides_although_a_sidecar_keeps_it_and_others_train() -> None:
    """Worker 0 of a deepspeed job is its result; its pod's phase stays Running."""

    async def history(cluster: SimulatedCluster) -> None:
        _, pods = await volcano_workers(cluster)
        cluster.injects(pods[0], "istio-proxy")
        cluster.ends_training(pods[0])

    result = run_scenario(history, "--num_worker=2", framework="deepspeed")

    assert (result.code, result.jobs) == (ExitCode.SUCCEEDED, [])


def test_operator_that_sees_the_end_itself_is_not_overtaken() -> None:
    """It gets a minute, and its word is the result."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        for pod in pods:
            cluster.injects(pod, "istio-proxy")
            cluster.ends_training(pod)
        await asyncio.sleep(30)
        cluster.condition(job, "Created", "-Running", "Succeeded")

    result = run_scenario(history)

    assert (result.code, result.count("ran on")) == (ExitCode.SUCCEEDED, 0)


@pytest.mark.parametrize("trained", [0, 3])
def test_sidecar_that_fails_a_pod_is_the_cause_only_if_the_training_did_not(trained: int) -> None:
    """A pod is Failed when any of its containers failed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.injects(pods[0], "shipper")
        cluster.ends_training(pods[0], trained)
        await asyncio.sleep(1)
        cluster.ends_sidecar(pods[0], 9, phase="Failed")
        await fail(cluster, job)

    result = run_scenario(history)

    assert result.outcome
    found = [(each.container, each.exit_code) for each in result.outcome.failures]
    assert found == [("pytorch", 3) if trained else ("shipper", 9)]
