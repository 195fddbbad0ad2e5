"""What the pods of all frameworks have in common."""

import pytest
from frameworks.cases import RENDERINGS, pod_templates, rendering_id
from frameworks.pods import container, manifest, pod, variables

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.manifest.jobs.mxjob import MXJOB
from dlf.manifest.jobs.paddlejob import PADDLEJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.tfjob import TFJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_labels_are_those_the_platform_looks_for(name: str, kind: JobKind) -> None:
    """Job and pods carry every key, also when the platform says nothing."""
    rendered = manifest(name, kind)
    job = rendered["metadata"]["name"]
    assert [
        "run-id",
        "run-username",
        "pipeline-username",
        "pipeline-id",
        "pipeline-name",
        "task-id",
        "task-name",
    ] == list(rendered["metadata"]["labels"])
    for _, _, template in pod_templates(rendered):
        labels = template["metadata"]["labels"]
        assert {
            "pipeline-id",
            "pipeline-name",
            "task-id",
            "task-name",
            "username",
            "component",
            "type",
            "run-id",
        } == set(labels) - {"mpi-role"}
        expected = "volcanojob" if kind == VOLCANO_JOB else kind.name.lower()
        assert (job, expected) == (labels["component"], labels["type"])
        assert {
            "project": "public",
            "sidecar.istio.io/inject": "false",
            "linkerd.io/inject": "disabled",
        } == template["metadata"]["annotations"]


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_service_meshes_may_be_let_in(name: str, kind: JobKind) -> None:
    """--inject_sidecars leaves the decision to the namespace, as without dlf."""
    for _, _, template in pod_templates(manifest(name, kind, ["--inject_sidecars"])):
        assert {"project": "public"} == template["metadata"]["annotations"]


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_pods_prefer_to_be_apart(name: str, kind: JobKind) -> None:
    """Preferred anti-affinity over hosts, among the pods of this job alone."""
    for _, _, template in pod_templates(manifest(name, kind)):
        labels = template["metadata"]["labels"]
        (term,) = template["spec"]["affinity"]["podAntiAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        assert {
            "weight": 20 if kind == VOLCANO_JOB else 5,
            "podAffinityTerm": {
                "labelSelector": {
                    "matchLabels": {"component": labels["component"], "type": labels["type"]}
                },
                "topologyKey": "kubernetes.io/hostname",
            },
        } == term


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("tf", TFJOB, ["tensorflow"]),
        ("pytorch", PYTORCHJOB, ["pytorch", "pytorch"]),
        ("mindformers", PYTORCHJOB, ["pytorch", "pytorch"]),
        ("paddle", PADDLEJOB, ["paddle"]),
        ("mxnet", MXJOB, ["mxnet", "mxnet"]),
        ("mxnet", VOLCANO_JOB, ["mxnet", "mxnet"]),
        ("horovod", MPIJOB, ["mpi-launcher", "mpi-worker"]),
        ("mpi", MPIJOB_V2BETA1, ["mpi-launcher", "mpi-worker"]),
        ("deepspeed", VOLCANO_JOB, ["volcanojob"]),
        ("megatron", VOLCANO_JOB, ["volcanojob"]),
        ("colossalai", VOLCANO_JOB, ["volcanojob"]),
        ("mindspore", VOLCANO_JOB, ["volcanojob"]),
    ],
)
def test_container_has_the_name_that_the_operator_expects(
    name: str, kind: JobKind, expected: list[str]
) -> None:
    """One container a pod, named as the platform and the operators know it."""
    templates = list(pod_templates(manifest(name, kind)))
    assert expected == [c["name"] for _, _, t in templates for c in t["spec"]["containers"]]


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_namespace_is_left_to_whoever_submits(name: str, kind: JobKind) -> None:
    """It belongs to the connection, not to the task."""
    assert "namespace" not in manifest(name, kind, env={"KFJ_NAMESPACE": "p"})["metadata"]


def test_amounts_are_requests_and_limits() -> None:
    """MIN~MAX tells them apart; DEFAULT_POD_RESOURCES is merged under both."""
    env = {
        "KFJ_TASK_RESOURCE_CPU": "2~4",
        "KFJ_TASK_RESOURCE_MEMORY": "8Gi",
        "DEFAULT_POD_RESOURCES": '{"cpu": "1", "ephemeral-storage": "5Gi"}',
    }
    assert {
        "requests": {"cpu": "2", "ephemeral-storage": "5Gi", "memory": "8Gi"},
        "limits": {"cpu": "4", "ephemeral-storage": "5Gi", "memory": "8Gi"},
    } == container(env=env)["resources"]


def test_nothing_is_claimed_when_nothing_is_said() -> None:
    """No empty resources are written."""
    assert "resources" not in container()


@pytest.mark.parametrize(
    ("env", "claimed"),
    [
        ({"KFJ_TASK_RESOURCE_GPU": "2"}, {"nvidia.com/gpu": "2"}),
        ({"KFJ_TASK_RESOURCE_GPU": "2(npu)"}, {"huawei.com/Ascend910": "2"}),
        ({"KFJ_TASK_RESOURCE_GPU": "1(V100)"}, {"nvidia.com/gpu": "1"}),
        (
            {"KFJ_TASK_RESOURCE_GPU": "1(npu)", "GPU_RESOURCE_NAME": "huawei.com/Ascend910B"},
            {"huawei.com/Ascend910B": "1"},
        ),
    ],
)
def test_cards_are_claimed_as_the_vendor_s_resource(
    env: dict[str, str], claimed: dict[str, str]
) -> None:
    """GPU_RESOURCE_NAME has the last word."""
    found = container(env=env)
    assert {"requests": claimed, "limits": claimed} == found["resources"]
    assert claimed[next(iter(claimed))] == variables(found)["GPU_NUM"]
    assert "NVIDIA_VISIBLE_DEVICES" not in variables(found)
    assert "securityContext" not in found


def test_no_card_hides_all_cards() -> None:
    """Without a claim an image for GPUs would see every GPU of the node."""
    expected = {"NCCL_DEBUG": "INFO", "GPU_NUM": "0", "NVIDIA_VISIBLE_DEVICES": "none"}
    assert expected == variables(container())
    assert expected == variables(container(env={"KFJ_TASK_RESOURCE_GPU": "0(V100)"}))


def test_all_cards_of_a_node_are_shared_unclaimed() -> None:
    """-1: privileged, nothing claimed, and the variable of the runtime is left alone."""
    found = container(env={"KFJ_TASK_RESOURCE_GPU": "-1"})
    assert {"privileged": True} == found["securityContext"]
    assert {"NCCL_DEBUG": "INFO", "GPU_NUM": "-1"} == variables(found)
    assert "resources" not in found


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [("1(v100)", "V100"), ("-1(T4)", "T4"), ("1", None), ("0(V100)", None), ("1(npu)", None)],
)
def test_model_of_the_card_chooses_the_nodes(gpu: str, expected: str | None) -> None:
    """Only a pod that gets GPUs needs nodes that have them."""
    assert expected == pod(env={"KFJ_TASK_RESOURCE_GPU": gpu})["nodeSelector"].get("gpu-type")


def test_rdma_is_claimed_with_its_resource_and_pins_memory() -> None:
    """IPC_LOCK lets the library register memory with the device."""
    env = {"KFJ_TASK_RESOURCE_RDMA": "1(ib)", "RDMA_RESOURCE_NAME": "rdma/hca"}
    found = container(env=env)
    assert {"requests": {"rdma/hca": "1"}, "limits": {"rdma/hca": "1"}} == found["resources"]
    assert {"capabilities": {"add": ["IPC_LOCK"]}} == found["securityContext"]


@pytest.mark.parametrize("env", [{"KFJ_TASK_RESOURCE_RDMA": "1"}, {"RDMA_RESOURCE_NAME": "rdma/a"}])
def test_rdma_needs_number_and_resource(env: dict[str, str]) -> None:
    """Either alone claims nothing."""
    assert {"resources", "securityContext"}.isdisjoint(container(env=env))


def test_env_flag_wins_over_what_dlf_sets() -> None:
    """Each name is written once, with the user's value."""
    argv = ["--env", "NCCL_DEBUG=WARN", "--env", "A=1", "--env", "A=2"]
    names = [each["name"] for each in container(argv)["env"]]
    assert len(set(names)) == len(names)
    assert ("WARN", "2") == tuple(variables(container(argv))[n] for n in ("NCCL_DEBUG", "A"))


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("", None),
        ("default-scheduler", None),
        ("volcano", "volcano"),
        ("default-scheduler-2", "default-scheduler-2"),
    ],
)
def test_scheduler_is_named_unless_it_is_the_default(scheduler: str, expected: str | None) -> None:
    """An operator that gangs by Volcano sets its own only where none is named."""
    assert expected == pod(env={"SCHEDULER": scheduler}).get("schedulerName")
