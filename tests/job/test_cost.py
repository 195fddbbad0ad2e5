"""What following costs: requests of an idle job, time before the create and after the end."""

import asyncio
import time
from collections import Counter

from fake_api import FakeApi
from fake_api.http_server import Request
from job.pytorch_histories import succeed, three_pods
from job.scenario import run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode
from dlf.frameworks import load_framework
from dlf.job.job_context import JobContext
from dlf.job.launcher_pod import LauncherPod
from dlf.job.submit import Submission, choose_kind, spec_hash, submit
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig
from dlf.task.load import load, split

PODS = 100


def _what(request: Request) -> str:
    verb = "watch" if request.query.get("watch") else "get"
    return f"{verb} {request.path.rpartition('/')[2]}"


async def _of_100_pods(cluster: SimulatedCluster) -> tuple[str, list[str]]:
    """They all run, and each has printed a line."""
    job = await cluster.job()
    pods = [cluster.pod(job, "master", 0)]
    pods += [cluster.pod(job, "worker", index) for index in range(PODS - 1)]
    for pod in pods:
        cluster.runs(pod, "begin")
    cluster.condition(job, "Created", "Running")
    await cluster.until_message(f"{PODS} of {PODS} running")
    return job, pods


def test_idle_job_of_100_pods_costs_few_requests() -> None:
    """At most 60 an hour; pods print a line each minute, as a training does."""
    hour = Counter[str]()

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await _of_100_pods(cluster)
        await asyncio.sleep(600)
        before = len(cluster.api.requests)
        for _ in range(60):
            for pod in pods:
                cluster.prints(pod, "loss 0.1")
            await asyncio.sleep(60)
        hour.update(_what(request) for request in cluster.api.requests[before:])
        await succeed(cluster, job, pods)

    result = run_scenario(history, "--num_worker", str(PODS), sweep=30)

    assert result.code == ExitCode.SUCCEEDED
    assert hour.keys() <= {"watch pytorchjobs", "watch pods"}
    assert 0 < hour.total() <= 60


def test_silent_job_of_100_pods_costs_few_requests() -> None:
    """At most 60 in every hour from the first on, and no stream is left alone for four hours."""
    hours: list[Counter[str]] = []
    pods: list[str] = []
    looked = set[str]()

    async def history(cluster: SimulatedCluster) -> None:
        job, found = await _of_100_pods(cluster)
        pods.extend(found)
        await asyncio.sleep(1)  # each log is opened once
        for _ in range(4):
            before = len(cluster.api.requests)
            await asyncio.sleep(3600)
            asked = cluster.api.requests[before:]
            hours.append(Counter(map(_what, asked)))
            looked.update(r.path.split("/")[-2] for r in asked if r.path.endswith("/log"))
        await succeed(cluster, job, pods)

    result = run_scenario(history, "--num_worker", str(PODS), sweep=30)

    assert result.code == ExitCode.SUCCEEDED
    assert all(hour.keys() == {"watch pytorchjobs", "watch pods", "get log"} for hour in hours)
    assert max(hour.total() for hour in hours) <= 60
    assert looked == set(pods)


def test_end_of_the_job_is_the_end_of_dlf() -> None:
    """Less than a second after the last byte of the logs."""
    finished = 0.0

    async def history(cluster: SimulatedCluster) -> None:
        nonlocal finished
        job, pods = await three_pods(cluster)
        await asyncio.sleep(1000)
        finished = cluster.now()
        await succeed(cluster, job, pods)

    result = run_scenario(history, sweep=30)

    assert result.code == ExitCode.SUCCEEDED
    assert result.ended - finished < 1


def test_submitting_takes_little_work() -> None:
    """Less than 50 ms of CPU from the parsed command to the created job, the server's included."""
    framework = load_framework("pytorch")
    env = {"KFJ_RUN_ID": "r", "KFJ_TASK_ID": "t"}
    task = load(framework.settings, split(["--image", "i"], framework.settings), env)

    async def once(api: FakeApi, suffix: str) -> float:
        async with KubeClient(ClusterConfig(origin="test", server=api.url)) as client:
            before = time.process_time()
            kind = await choose_kind(client, framework, "auto", print)
            context = JobContext(
                client=client,
                kind=kind,
                namespace="ml",
                launcher=LauncherPod(client, "ml", {}),
                notify=lambda _: None,
                verbose=lambda _: None,
            )
            submission = Submission(
                manifest=framework.manifest(task, kind, suffix),
                task=task,
                spec_hash=spec_hash(framework, task, kind),
                nonce=suffix,
            )
            await submit(context, submission)
            return time.process_time() - before

    async def scenario() -> list[float]:
        spent = []
        for number in range(6):
            async with FakeApi() as api:
                spent.append(await once(api, f"{number:04x}"))
        return spent

    _, *warm = asyncio.run(scenario())

    assert min(warm) < 0.05
