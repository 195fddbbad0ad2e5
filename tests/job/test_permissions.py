"""What dlf asks for while it runs a job is in the table of permissions."""

import asyncio

import pytest
from fake_api.http_server import Request
from fake_api.request_info import request_info
from fake_api.store import group_resource
from job.histories import succeed, three_pods
from job.play import Played, play
from job.stage import Stage

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


def used(played: Played) -> set[str]:
    """All that were used."""
    return {asked(request) for request in played.api.requests} - {""}


def launcher(stage: Stage) -> None:
    """dlf's own pod, and an earlier job to replace."""
    stage.api.store.create(stage.pods, {"metadata": {"name": "launcher"}})
    stage.earlier("earlier", digest="another")


async def rich(stage: Stage) -> None:
    """Waits for pods, and leaves one running at the end."""
    await stage.heard("submitted")
    await asyncio.sleep(20)
    if stage.kind == VOLCANO_JOB:
        job = await stage.job()
        pods = [stage.pod(job, "worker", index, "worker") for index in range(3)]
        for pod in pods:
            stage.runs(pod)
        stage.ends(pods[0])
    else:
        job, pods = await three_pods(stage)
        stage.ends(pods[0])
        stage.condition(job, "Succeeded")


@pytest.mark.parametrize(
    ("framework", "kind"), [("pytorch", PYTORCHJOB), ("deepspeed", VOLCANO_JOB)]
)
def test_nothing_is_asked_for_that_is_not_in_the_table(framework: str, kind: Kind) -> None:
    """A history that uses all of it, and not more."""
    played = play(rich, framework=framework, before=launcher, env={"K8S_POD_NAME": "launcher"})

    known = {verb.text for verb in verbs(kind)}
    assert played.code == ExitCode.SUCCEEDED
    assert used(played) <= known
    # `get` of the job is for lost answers, queues are read when there is a PodGroup.
    rare = {f"get {kind.plural}.{kind.group}", "get queues.scheduling.volcano.sh"}
    rare |= {"watch podgroups.scheduling.volcano.sh"}
    rare |= {f"patch {kind.plural}.{kind.group}"} if kind == VOLCANO_JOB else set()
    assert known - used(played) <= rare


def test_least_role_is_enough() -> None:
    """What is not marked as needed may all be forbidden: the job runs, and nothing is left."""

    async def history(stage: Stage) -> None:
        await asyncio.sleep(30)
        job, pods = await three_pods(stage)
        await succeed(stage, job, pods)

    def before(stage: Stage) -> None:
        launcher(stage)
        for verb in verbs(PYTORCHJOB):
            if verb.permission.need != "run":
                what, _, full = verb.text.partition(" ")
                stage.api.denied.add((what, full))

    played = play(history, before=before, env={"K8S_POD_NAME": "launcher"})

    assert played.code == ExitCode.SUCCEEDED
