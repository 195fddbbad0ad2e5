"""Flags for resources, placement and clean-up, in every framework and kind."""

from typing import Any

import pytest
from frameworks.cases import DEFAULT, RENDERINGS, as_json, pod_templates, render, rendering_id

from dlf.errors import UsageError
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.tfjob import TFJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB

every_rendering = pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)


def pod_specs(name: str, kind: JobKind, argv: list[str]) -> list[dict[str, Any]]:
    rendered = as_json(render(name, kind, argv))
    return [template["spec"] for _, _, template in pod_templates(rendered)]


@every_rendering
def test_flag_and_variable_of_a_resource_render_the_same(name: str, kind: JobKind) -> None:
    """A flag beside its variable is another way to say the same thing."""
    argv = ["--cpu", "2~4", "--memory", "8Gi", "--gpu", "1(V100)", "--node_selector", "a=b"]
    argv += ["--volume", "d(pvc-share):/d", "--volume", "e(secret):/e"]
    env = {
        "KFJ_TASK_RESOURCE_CPU": "2~4",
        "KFJ_TASK_RESOURCE_MEMORY": "8Gi",
        "KFJ_TASK_RESOURCE_GPU": "1(V100)",
        "KFJ_TASK_NODE_SELECTOR": "a=b",
        "KFJ_TASK_VOLUME_MOUNT": "d(pvc-share):/d,e(secret):/e",
    }
    assert as_json(render(name, kind, env=DEFAULT | env)) == as_json(render(name, kind, argv))


@every_rendering
def test_placement_flags_are_in_every_pod(name: str, kind: JobKind) -> None:
    """Tolerations, service account, the nodes' network and the size of /dev/shm."""
    argv = ["--toleration", "gpu=a100:NoSchedule", "--toleration", "spot"]
    argv += ["--service_account", "trainer", "--host_network", "--shm_size", "16Gi"]
    for spec in pod_specs(name, kind, argv):
        assert spec["tolerations"] == [
            {"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"},
            {"key": "spot", "operator": "Exists"},
        ]
        assert (spec["serviceAccountName"], spec["hostNetwork"], spec["dnsPolicy"]) == (
            "trainer",
            True,
            "ClusterFirstWithHostNet",
        )
        shared = next(volume for volume in spec["volumes"] if volume["name"] == "dshm")
        assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": "16Gi"}


@every_rendering
def test_time_to_live_is_where_the_operator_reads_it(name: str, kind: JobKind) -> None:
    """`ttlSecondsAfterFinished` of the run policy, or of a Volcano Job."""
    spec = as_json(render(name, kind, ["--ttl", "1h"]))["spec"]
    holder = spec if kind == VOLCANO_JOB else spec["runPolicy"]
    assert 3600 == holder["ttlSecondsAfterFinished"]


@every_rendering
def test_clean_pod_policy_is_for_kubeflow_jobs(name: str, kind: JobKind) -> None:
    """A Volcano Job has none; that is said, not ignored."""
    argv = ["--clean_pod_policy", "All"]
    if kind == VOLCANO_JOB:
        with pytest.raises(UsageError, match="--clean_pod_policy is for Kubeflow jobs"):
            render(name, kind, argv)
    else:
        rendered = as_json(render(name, kind, argv))
        assert "All" == rendered["spec"]["runPolicy"]["cleanPodPolicy"]


@every_rendering
def test_role_has_resources_of_its_own(name: str, kind: JobKind) -> None:
    """The other roles keep those of the task."""
    argv = ["--memory", "4Gi", "--cpu", "1", "--role", "worker:memory=8Gi"]
    rendered = as_json(render(name, kind, argv))
    memory = {
        role.lower(): template["spec"]["containers"][0]["resources"]["limits"]
        for role, _, template in pod_templates(rendered)
    }
    assert {"cpu": "1", "memory": "8Gi"} == memory.pop("worker")
    assert all({"cpu": "1", "memory": "4Gi"} == limits for limits in memory.values())


GPUS = ["--gpu", "1(npu,910B)", "--memory", "4Gi"]


def gpus(role: str, rendered: Any) -> dict[str, Any]:
    """What a role's container and pod have to do with GPUs."""
    (template,) = (each for name, _, each in pod_templates(rendered) if name.lower() == role)
    spec = template["spec"]
    variables = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
    names = ("GPU_NUM", "NVIDIA_VISIBLE_DEVICES", "PET_NPROC_PER_NODE")
    return {
        "claimed": spec["containers"][0]["resources"]["limits"].get("huawei.com/Ascend910"),
        "model": spec.get("nodeSelector", {}).get("gpu-type"),
        **{name: variables[name] for name in names if name in variables},
    }


def test_parameter_servers_need_no_gpu() -> None:
    """Nor nodes that have any; workers keep theirs."""
    rendered = as_json(render("tf", TFJOB, [*GPUS, "--num_ps", "1", "--role", "ps:gpu=0"]))
    nothing = {"claimed": None, "model": None, "GPU_NUM": "0", "NVIDIA_VISIBLE_DEVICES": "none"}
    assert nothing == gpus("ps", rendered)
    assert {"claimed": "1", "model": "910B", "GPU_NUM": "1"} == gpus("worker", rendered)


def test_role_with_more_gpus_has_more_processes() -> None:
    """What is written later wins, flag by flag; the rest of the job is as without."""
    argv = [*GPUS, "--role", "worker:gpu=2,memory=1Gi", "--role", "Worker:gpu=4,cpu=3"]
    rendered = as_json(render("pytorch", PYTORCHJOB, argv))
    four = {"claimed": "4", "model": "910B", "GPU_NUM": "4", "PET_NPROC_PER_NODE": "4"}
    assert four == gpus("worker", rendered)
    assert "1" == gpus("master", rendered)["PET_NPROC_PER_NODE"]
    (worker,) = (each for name, _, each in pod_templates(rendered) if name == "Worker")
    limits = worker["spec"]["containers"][0]["resources"]["limits"]
    assert {"cpu": "3", "memory": "1Gi", "huawei.com/Ascend910": "4"} == limits


@every_rendering
def test_gpus_of_the_only_role_are_those_of_the_job(name: str, kind: JobKind) -> None:
    """A job of workers alone is the same with either flag, wherever it writes the number."""
    role = as_json(render(name, kind, ["--role", "worker:gpu=2"]))
    if 1 == len(list(pod_templates(role))):
        assert as_json(render(name, kind, ["--gpu", "2"])) == role
    else:
        assert "2" == role_variable(role, "GPU_NUM")


def role_variable(rendered: Any, variable: str) -> str | None:
    (worker,) = (each for name, _, each in pod_templates(rendered) if name.lower() == "worker")
    env = worker["spec"]["containers"][0]["env"]
    return next((each["value"] for each in env if each["name"] == variable), None)


def test_role_without_ranks_gets_no_gpus() -> None:
    """It would be ignored."""
    with pytest.raises(UsageError) as caught:
        render("mpi", MPIJOB, ["--role", "launcher:gpu=1"])
    assert "--role='Launcher:gpu=1' is not possible: Launcher gets no GPUs" == caught.value.message
    render("mpi", MPIJOB, ["--role", "launcher:gpu=0,memory=1Gi", "--gpu", "1"])


def test_role_that_the_job_does_not_have_is_refused() -> None:
    """The message names those that there are."""
    with pytest.raises(UsageError) as caught:
        render("pytorch", RENDERINGS[1][1], ["--role", "ps:memory=8Gi"])
    assert "--role='ps' is not a role of this job" == caught.value.message
    assert "write one of Master, Worker" == caught.value.hint


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--role", "worker"], "--role='worker' is not valid; write ROLE:KEY=AMOUNT, such as"),
        (["--role", "w:rdma=1"], "--role='w:rdma=1' sets 'rdma', which cannot differ between"),
        (["--role", "w:gpu=1(npu)"], "--role='w:gpu=1(npu)' contains '1(npu)', which is not a"),
        (["--role", "w:cpu=x"], "--role='w:cpu=x' contains 'x', which is not a valid quantity"),
        (["--toleration", "a=b:Never"], "--toleration='a=b:Never' contains 'a=b:Never', which is"),
        (["--shm_size", "8g"], "--shm_size='8g' is not a valid quantity; did you mean 8Gi?"),
        (["--memory", "20g"], "--memory='20g' is not a valid quantity; did you mean 20Gi?"),
        (["--ttl", "never"], "--ttl='never' is not valid; write a time such as 90s"),
    ],
)
def test_wrong_value_is_refused(argv: list[str], message: str) -> None:
    """In one line, before anything is sent."""
    with pytest.raises(UsageError) as caught:
        render("pytorch", RENDERINGS[1][1], argv)
    assert caught.value.message.startswith(message)
