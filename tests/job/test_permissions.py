"""What dlf asks for while it runs a job is in the table of permissions."""

import asyncio

import pytest
from fake_api.http_server import Request
from fake_api.request_info import request_info
from fake_api.store import group_resource
from job.pytorch_histories import succeed, three_pods
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import Kind
from dlf.preflight.permissions import verbs


def asked(request: Request) -> str:
    """The permission that a request needs; "" for discovery, which everybody may ask."""
    target = request_info(request)
    if target is None:
        return ""
    verb = "get" if target.verb == "log" else target.verb
    plural = "/".join(part for part in (target.collection.plural, target.sub) if part)
    return f"{verb} {group_resource(target.collection._replace(plural=plural))}"


def used(result: ScenarioResult) -> set[str]:
    """All that were used."""
    return {asked(request) for request in result.api.requests} - {""}


def launcher(cluster: SimulatedCluster) -> None:
    """dlf's own pod, and an earlier job to replace."""
    cluster.api.store.create(cluster.pods, {"metadata": {"name": "launcher"}})
    cluster.earlier("earlier", digest="another")


async def rich(cluster: SimulatedCluster) -> None:
    """Waits for pods, and leaves one running at the end."""
    await cluster.until_message("submitted")
    await asyncio.sleep(20)
    if cluster.kind == VOLCANO_JOB:
        job = await cluster.job()
        pods = [cluster.pod(job, "worker", index, "worker") for index in range(3)]
        for pod in pods:
            cluster.runs(pod)
        cluster.ends(pods[0])
    else:
        job, pods = await three_pods(cluster)
        cluster.ends(pods[0])
        cluster.condition(job, "Succeeded")


@pytest.mark.parametrize(
    ("framework", "kind"), [("pytorch", PYTORCHJOB), ("deepspeed", VOLCANO_JOB)]
)
def test_nothing_is_asked_for_that_is_not_in_the_table(framework: str, kind: Kind) -> None:
    """A history that uses all of it, and not more."""
    result = run_scenario(
        rich, framework=framework, before=launcher, env={"K8S_POD_NAME": "launcher"}
    )

    known = {verb.text for verb in verbs(kind)}
    assert result.code == ExitCode.SUCCEEDED
    assert used(result) <= known
    # `get` of the job is for lost answers, queues are read when there is a PodGroup.
    rare = {f"get {kind.plural}.{kind.group}", "get queues.scheduling.volcano.sh"}
    rare |= {"watch podgroups.scheduling.volcano.sh"}
    rare |= {f"patch {kind.plural}.{kind.group}"} if kind == VOLCANO_JOB else set()
    assert known - used(result) <= rare


def test_least_role_is_enough() -> None:
    """What is not marked as needed may all be forbidden: the job runs, and nothing is left."""

    async def history(cluster: SimulatedCluster) -> None:
        await asyncio.sleep(30)
        job, pods = await three_pods(cluster)
        await succeed(cluster, job, pods)

    def before(cluster: SimulatedCluster) -> None:
        launcher(cluster)
        for verb in verbs(PYTORCHJOB):
            if verb.permission.need != "run":
                what, _, full = verb.text.partition(" ")
                cluster.api.denied.add((what, full))

    result = run_scenario(history, before=before, env={"K8S_POD_NAME": "launcher"})

    assert result.code == ExitCode.SUCCEEDED
