"""Why a job failed: the last block on stderr, first cause first."""

import asyncio
import json

import pytest
from diagnose import log_ends
from job.pytorch_histories import FIRST, JOB, MASTER, SECOND, fail, three_pods
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode
from dlf.outcome import report


def headline(result: ScenarioResult) -> str:
    """The first line of the last block."""
    assert result.outcome
    return report.headline(result.outcome)


def test_first_failure_comes_before_the_wave_that_it_causes() -> None:
    """Its last lines are shown; of the others, whose logs are full of it, only a line each."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[2], 1, "Traceback", "ValueError: no data")
        await asyncio.sleep(3)
        cluster.ends(pods[0], 1, "NCCL WARN remote process exited", "ChildFailedError: train.py")
        cluster.ends(pods[1], 134, "NCCL watchdog")
        await fail(cluster, job)

    result = run_scenario(history)

    assert result.code == ExitCode.FAILED
    assert result.messages[-9:-1] == [
        f"PyTorchJob {JOB} failed: pod {SECOND} (worker, rank 2): exit code 1, on node node-1"
        " (and 2 more)",
        f"  last lines of {SECOND}:",
        "  | hello from 2",
        "  | Traceback",
        "  | ValueError: no data",
        f"  then pod {MASTER} (master, rank 0): exit code 1, on node node-1",
        f"  then pod {FIRST} (worker, rank 1): exit code 134, aborted: an assertion or a runtime "
        "error in native code, on node node-1",
        "  the operator says: JobFailed: the job is Failed",
    ]
    assert not any("ChildFailedError" in line for line in result.messages)


@pytest.mark.parametrize(
    ("code", "reason", "told"),
    [
        pytest.param(137, "OOMKilled", "OOMKilled, exit code 137, out of memory", id="oom"),
        pytest.param(137, "", "exit code 137, killed: out of memory, or stopped", id="killed"),
        pytest.param(139, "", "exit code 139, segmentation fault", id="segfault"),
        pytest.param(143, "", "exit code 143, terminated by SIGTERM", id="terminated"),
        pytest.param(126, "", "exit code 126, command found but not executable", id="126"),
        pytest.param(127, "", "exit code 127, command not found", id="127"),
        pytest.param(136, "", "exit code 136, ended by SIGFPE", id="signal"),
        pytest.param(160, "", "exit code 160, on node", id="no signal of that number"),
    ],
)
def test_exit_code_is_explained(code: int, reason: str, told: str) -> None:
    """What a number means stands beside it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[1], code, reason=reason)
        await fail(cluster, job)

    assert f"pod {FIRST} (worker, rank 1): {told}" in headline(run_scenario(history))


def test_evicted_pod_is_told_in_the_kubelets_words() -> None:
    """The pod's own reason says more than its container's exit code."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        words = "The node was low on resource: memory."
        cluster.ends(pods[1], 137, "", reason="Error")
        evicted = {"status": {"phase": "Failed", "reason": "Evicted", "message": words}}
        cluster.api.store.patch(cluster.pods, pods[1], evicted)
        await fail(cluster, job)

    assert (
        f"pod {FIRST} (worker, rank 1): Evicted, exit code 137, its node ran out of a resource, "
        "The node was low on resource: memory., on node node-1"
    ) in headline(run_scenario(history))


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        pytest.param(
            "PreemptionByScheduler", "a pod of higher priority needed its place", id="preempted"
        ),
        pytest.param("DeletionByTaintManager", "its node was tainted or lost", id="node lost"),
    ],
)
def test_pod_that_the_cluster_takes_away_is_the_cause(reason: str, told: str) -> None:
    """Although it is deleted like those that are stopped because of it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        mark = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        cluster.api.store.patch(cluster.pods, pods[1], {"status": {"conditions": [mark]}})
        cluster.deletes(pods[1])
        await asyncio.sleep(2)
        cluster.ends(pods[1], 143)
        cluster.api.store.remove(cluster.pods, pods[1])
        cluster.deletes(pods[0])
        cluster.ends(pods[0], 1)
        await fail(cluster, job)

    result = run_scenario(history)

    assert f"pod {FIRST} (worker, rank 1): {reason}, exit code 143" in headline(result)
    assert told in headline(result)
    assert "  then 1 pods were stopped" in result.messages


def test_pods_that_the_operator_deletes_first_are_remembered() -> None:
    """training-operator 1.7 to 1.9.3 deletes all pods before it writes that the job failed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[2], 7, "the cause")
        await asyncio.sleep(2)
        for pod in pods:
            cluster.api.store.remove(cluster.pods, pod)
        await asyncio.sleep(2)
        await fail(cluster, job)

    result = run_scenario(history)

    assert f"pod {SECOND} (worker, rank 2): exit code 7" in headline(result)
    assert "  | the cause" in result.messages


def test_pod_whose_end_is_told_by_its_deletion_alone_is_remembered() -> None:
    """The DELETED event is the last word on a pod, and may be the only one."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[2], 9)
        cluster.api.store.remove(cluster.pods, pods[2])
        await fail(cluster, job)

    assert f"pod {SECOND} (worker, rank 2): exit code 9" in headline(run_scenario(history))


def test_restarts_in_place_are_the_cause_when_nothing_else_is() -> None:
    """backoffLimit: the container is up again when the job is given up."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.restarts(pods[1], 3, code=5)
        await fail(cluster, job)

    assert f"pod {FIRST} (worker, rank 1): exit code 5" in headline(run_scenario(history))


def test_job_that_is_restarted_as_a_whole_is_judged_by_its_last_attempt() -> None:
    """Volcano's RestartJob: what failed before the restart is no failure of a job that succeeds."""

    async def attempt(cluster: SimulatedCluster, job: str) -> list[str]:
        cluster.phase(job, "Running")
        pods = [cluster.pod(job, "worker", index, "worker") for index in range(3)]
        for pod in pods:
            cluster.runs(pod)
        await asyncio.sleep(10)
        return pods

    async def history(cluster: SimulatedCluster) -> None:
        job = await cluster.job()
        pods = await attempt(cluster, job)
        cluster.ends(pods[1], 1)
        cluster.phase(job, "Restarting")
        for pod in pods:
            cluster.deletes(pod)
        for pod in (pods[0], pods[2]):
            cluster.ends(pod, 143)
        await asyncio.sleep(1)
        for pod in pods:
            cluster.api.store.remove(cluster.pods, pod)
            cluster.api.logs.restart("pipeline", pod, "worker")
        for pod in await attempt(cluster, job):
            cluster.ends(pod)
        cluster.phase(job, "Completed")

    result = run_scenario(history, "--strict", "--max_retry", "2", framework="mindspore")

    assert result.code == ExitCode.SUCCEEDED
    assert result.outcome
    assert result.outcome.warnings == ()


def test_same_second_is_settled_by_how_containers_ended() -> None:
    """Times have whole seconds: who was killed by a signal did not begin it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 143)
        cluster.ends(pods[2], 1)
        await fail(cluster, job)

    assert f"pod {SECOND} (worker, rank 2): exit code 1" in headline(run_scenario(history))


def test_job_that_fails_before_its_pods_are_seen_is_still_explained() -> None:
    """The watch of the pods may lag behind the job's: they are looked at once more."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.fail(verb="watch", path="/pods", seconds=20, status=503)
        cluster.api.end_watches("pods")
        await asyncio.sleep(1)
        cluster.ends(pods[2], 7)
        await fail(cluster, job)

    assert f"pod {SECOND} (worker, rank 2): exit code 7" in headline(run_scenario(history))


def test_operators_words_close_the_block() -> None:
    """After the pods, which know better."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 1)
        await fail(cluster, job)

    assert "  the operator says: JobFailed: the job is Failed" in run_scenario(history).messages


def test_operators_words_are_the_cause_when_no_pod_failed() -> None:
    """Such as a deadline that the operator keeps."""

    async def history(cluster: SimulatedCluster) -> None:
        job, _ = await three_pods(cluster)
        await fail(cluster, job)

    assert (
        headline(run_scenario(history)) == f"PyTorchJob {JOB} failed: JobFailed: the job is Failed"
    )


def test_report_tells_the_same_to_machines() -> None:
    """`--report`: valid JSON whatever bytes the log had."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.logs.of("pipeline", pods[0], "pytorch").write(b"\xff\xfe")
        cluster.ends(pods[0], 139)
        await fail(cluster, job)

    result = run_scenario(history)
    assert result.outcome
    told = json.loads(report.to_json(result.outcome))

    assert (told["result"], told["exit_code"], told["job"]) == ("failed", 1, f"PyTorchJob {JOB}")
    first = told["failures"][0]
    assert (first["pod"], first["role"], first["rank"], first["exit_code"]) == (
        MASTER,
        "master",
        0,
        139,
    )
    assert first["meaning"] == "segmentation fault in native code"
    assert first["last_lines"] == ["hello from 0", "\ufffd\ufffd"]


def test_termination_message_is_one_short_line() -> None:
    """kubelet keeps 4096 bytes, and a character must not be cut."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 1)
        message = "\u6a21" * 3000
        cluster.api.store.patch(
            cluster.pods, pods[0], {"status": {"reason": "X", "message": message}}
        )
        await fail(cluster, job)

    result = run_scenario(history)
    assert result.outcome
    message = report.termination_message(result.outcome)

    assert 4090 < len(message) <= 4096
    assert message.decode().startswith(f"PyTorchJob {JOB} failed: pod {MASTER}")


def test_exception_above_torchruns_boilerplate_is_shown_before_the_last_lines() -> None:
    """The pod's rank is that of its place in the job, the process's that of torch.distributed."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        traceback = log_ends.prefixed("[rank5]: ", log_ends.NO_DATA).split("\n")
        boilerplate = log_ends.torchrun(error_file="/tmp/error.json").split("\n")
        cluster.ends(pods[1], 1, *traceback, *boilerplate)
        await fail(cluster, job)

    result = run_scenario(history)

    start = next(i for i, line in enumerate(result.messages) if f"{JOB} failed: " in line)
    assert result.messages[start : start + 11] == [
        f"PyTorchJob {JOB} failed: pod {FIRST} (worker, rank 1): exit code 1, on node node-1;"
        " process rank 5: ValueError: no data",
        f"  traceback of {FIRST}, process rank 5:",
        *(f"  | {line}" for line in log_ends.NO_DATA.split("\n")),
        "  the process wrote its error to /tmp/error.json",
        f"  last lines of {FIRST}:",
        "  | train.py FAILED",
    ]
    assert result.messages[start + 10 + 19] == f"  | {'=' * 60}"
    assert result.outcome
    evidence = json.loads(report.to_json(result.outcome))["failures"][0]["evidence"]
    assert evidence == {
        "error": "ValueError: no data",
        "traceback": log_ends.NO_DATA.split("\n"),
        "process_rank": 5,
        "local_rank": 1,
        "process_exit_code": 1,
        "error_file": "/tmp/error.json",
        "source": "torchrun",
        "is_victim": False,
    }


def test_pod_that_only_lost_its_peer_stands_behind_the_one_with_a_cause() -> None:
    """Its container ended first: the other's launcher waited for its processes."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0], 1, *log_ends.GLOO_VICTIM.split("\n"))
        await asyncio.sleep(30)
        cluster.ends(pods[2], 1, *log_ends.NO_DATA.split("\n"))
        await fail(cluster, job)

    result = run_scenario(history)

    assert f"pod {SECOND} (worker, rank 2): exit code 1" in headline(result)
    assert f"  then pod {MASTER} (master, rank 0): exit code 1, on node node-1" in result.messages


def test_error_at_the_end_of_a_line_of_updates_is_shown() -> None:
    r"""8 KB of `\r`: a reader of a terminal saw only the last of them."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        bar = "\r".join(f"{n:3}%|{'#' * 75}" for n in range(100))
        cluster.ends(pods[1], 1, f"{bar}\rRuntimeError: disk full")
        await fail(cluster, job)

    assert "  | RuntimeError: disk full" in run_scenario(history).messages


@pytest.mark.parametrize(
    ("code", "name"), [(247, "SIGKILL"), (250, "SIGABRT"), (245, "SIGSEGV"), (241, "SIGTERM")]
)
def test_signal_that_a_launcher_in_python_passes_on_is_named(code: int, name: str) -> None:
    """paddle.distributed.launch exits with -9, and the system makes 247 of it."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[1], code)
        await fail(cluster, job)

    assert f"exit code {code}, its launcher's process was ended by {name}" in headline(
        run_scenario(history)
    )
