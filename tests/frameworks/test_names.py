"""The names of all that an operator makes of a job fit, up to a thousand replicas."""

import pytest
from frameworks.cases import RENDERINGS, as_json, pod_templates, render, rendering_id
from manifest import rules

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.manifest.jobs.volcano import VOLCANO_JOB

PIPELINES = ["mnist", "abcdefghi-" * 4, "a" * 200, "图像分类", "-" * 80, "1", "a-" * 40]


def derived(kind: JobKind, job: str, roles: dict[str, int]) -> list[str]:
    """Pods, their Services and host names, as each operator names them (first and last index)."""
    pods = [f"{job}-{role.lower()}-{i}" for role, n in roles.items() for i in {0, n - 1}]
    if kind == MPIJOB:
        pods.append(f"{job}-launcher")
    if kind == MPIJOB_V2BETA1:
        pods += [f"{job}-launcher-x7k2p", f"{job}-worker", f"{job}-config", f"{job}-ssh"]
    if kind == VOLCANO_JOB:
        pods += [f"{job}-svc", f"{job}-ssh"]
    return [job, *pods]


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda text: f"{text[:4]}x{len(text)}")
@pytest.mark.parametrize("workers", [1, 2, 10, 11, 100, 101, 1000])
def test_every_derived_name_is_a_label(
    name: str, kind: JobKind, pipeline: str, workers: int
) -> None:
    """DNS-1035, 63 characters at most, and the random suffix is still there."""
    argv = ["--num_worker", str(workers)]
    if name == "megatron":
        argv = ["--cluster", f"{'r' * 20}=2,worker={workers}"]
    if name in {"paddle", "mxnet", "tf"}:
        argv += ["--num_ps", str(workers)]
    rendered = as_json(render(name, kind, argv, {"KFJ_PIPELINE_NAME": pipeline}))
    job = rendered["metadata"]["name"]
    roles = {role: replicas for role, replicas, _ in pod_templates(rendered)}
    assert job.endswith("-0a1b")
    assert [] == [n for n in derived(kind, job, roles) if not rules.is_rfc1035_label(n)]


def test_pipeline_name_is_kept_when_there_is_room() -> None:
    """Forty characters and a hundred workers still fit."""
    (name, kind) = RENDERINGS[0]
    pipeline = "a" * 36
    rendered = render(name, kind, ["--num_worker", "100"], {"KFJ_PIPELINE_NAME": pipeline})
    assert f"tfjob-{pipeline}-0a1b" == rendered.metadata.name
