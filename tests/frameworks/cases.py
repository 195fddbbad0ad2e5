"""The jobs whose manifests are kept as golden files: every framework and kind, several tasks."""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dlf.frameworks import SUMMARIES, load_framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest, to_json
from dlf.task.load import load, split

GOLDEN = Path(__file__).parent / "golden"
SUFFIX = "0a1b"

DEFAULT = {"KFJ_PIPELINE_NAME": "mnist", "KFJ_TASK_IMAGES": "train:1"}
RICH = {
    "KFJ_RUN_ID": "12e4",
    "KFJ_TASK_ID": "12",
    "KFJ_TASK_NAME": "train-1",
    "KFJ_PIPELINE_ID": "3",
    "KFJ_PIPELINE_NAME": "Image_Net 2024",
    "KFJ_CREATOR": "zhang.san",
    "KFJ_RUNNER": "li@example.com",
    "KFJ_TASK_PROJECT_NAME": "研究",
    "KFJ_TASK_IMAGES": "example.com/team/train:1",
    "KFJ_TASK_RESOURCE_CPU": "8~16(intel)",
    "KFJ_TASK_RESOURCE_MEMORY": "32Gi~64Gi",
    "KFJ_TASK_RESOURCE_GPU": "8（npu,910b）",
    "GPU_RESOURCE_NAME": "huawei.com/Ascend910",
    "KFJ_TASK_RESOURCE_RDMA": "1(ib)",
    "RDMA_RESOURCE_NAME": "rdma/hca",
    "KFJ_TASK_NODE_SELECTOR": "org=a,b;train=true",
    "KFJ_TASK_VOLUME_MOUNT": (
        "home(pvc):/mnt,share(pvc-share):/share;10.0.0.1/export/data(nfs):/data,"
        "/opt/driver(hostpath):/opt/driver,app(configmap):/etc/app,key(secret):/etc/key,"
        "16g(memory):/dev/shm"
    ),
    "HUBSECRET": "hubsecret,team-pull",
    "IMAGE_PULL_POLICY": "Always",
    "DEFAULT_POD_RESOURCES": '{"ephemeral-storage": "20Gi"}',
    "SCHEDULER": "volcano",
}
RICH_ARGV = [
    *("--working_dir", "/srv/my project"),
    *("--command", """cd src\npython3 train.py --name "it's $NAME" --lr 0.1"""),
    *("--env", "NAME=a b", "--env", "NCCL_DEBUG=WARN", "--env", "PET_NPROC_PER_NODE=4"),
    *("--priority_class", "high", "--queue", "team-a", "--max_retry", "2"),
]
RICH_OWN = {
    "tf": ["--num_ps", "2", "--num_chief", "1", "--num_evaluator", "1", "--num_worker", "4"],
    "paddle": ["--num_ps", "2", "--num_worker", "4"],
    "mxnet": ["--num_ps", "2", "--num_worker", "4"],
    "horovod": ["--work_images", "mpi:1", "--num_worker", "4", "--slots_per_worker", "8"],
    "mpi": ["--work_images", "mpi:1", "--num_worker", "4", "--slots_per_worker", "8"],
    "colossalai": ["--work_images", "colossal:1", "--num_worker", "4"],
    "megatron": ["--cluster", "master=1\nworker: 3"],
}
ONE_WORKER = {"megatron": ["--cluster", "worker=1"]}

# Name of the case, the flags, and what the platform says.
CASES: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "defaults": ([], DEFAULT),
    "rich": (RICH_ARGV, RICH),
    "one worker without GPU": ([], DEFAULT | {"KFJ_TASK_RESOURCE_GPU": "0"}),
    "all cards of the node, pipeline name of 40 characters": (
        [],
        DEFAULT | {"KFJ_TASK_RESOURCE_GPU": "-1", "KFJ_PIPELINE_NAME": "abcdefghi-" * 4},
    ),
    "pipeline name of 200 characters": ([], DEFAULT | {"KFJ_PIPELINE_NAME": "abcdefghi_" * 20}),
    "names that are not ASCII": (
        [],
        DEFAULT
        | {"KFJ_PIPELINE_NAME": "图像分类", "KFJ_CREATOR": "张三", "KFJ_TASK_NAME": "训练 A"},
    ),
}

RENDERINGS = [(name, kind) for name in SUMMARIES for kind in load_framework(name).kinds]


def rendering_id(value: Any) -> str | None:
    """`mxnet`, `MXJob` as the names of tests."""
    return f"{value.name}-{value.version}" if isinstance(value, JobKind) else None


def golden_file(name: str, kind: JobKind) -> Path:
    """One file a rendering; the second kind of a framework says which it is."""
    other = {VOLCANO_JOB: "-volcano", MPIJOB_V2BETA1: "-v2beta1"}
    tail = other.get(kind, "") if kind != load_framework(name).kinds[0] else ""
    return GOLDEN / f"{name}{tail}.yaml"


@functools.cache
def golden_manifests(name: str, kind: JobKind) -> dict[str, dict[str, Any]]:
    """The manifests of a golden file, by their cases."""
    documents = yaml.load_all(golden_file(name, kind).read_bytes(), Loader=yaml.CSafeLoader)
    return dict(zip(CASES, documents, strict=True))


def pod_templates(manifest: Mapping[str, Any]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Role, replicas and pod template of each role of a manifest."""
    spec = manifest["spec"]
    for task in spec.get("tasks", []):
        yield task["name"], task["replicas"], task["template"]
    for key in spec:
        if key.endswith("ReplicaSpecs"):
            for role, replica in spec[key].items():
                yield role, replica["replicas"], replica["template"]


def as_json(manifest: Manifest) -> dict[str, Any]:
    """The object that the API server is sent."""
    built: dict[str, Any] = json.loads(to_json(manifest))
    return built


def render(
    name: str,
    kind: JobKind,
    argv: Sequence[str] = (),
    env: Mapping[str, str] = DEFAULT,
    suffix: str = SUFFIX,
) -> Manifest:
    """What `dlf NAME` renders from flags and environment."""
    framework = load_framework(name)
    settings = load(framework.settings, split(argv, framework.settings), env)
    return framework.manifest(settings, kind, suffix)


def render_case(name: str, kind: JobKind, case: str) -> Manifest:
    """The manifest of a golden case."""
    argv, env = CASES[case]
    own: Sequence[str] = ()
    if case == "rich":
        own = RICH_OWN.get(name, ["--num_worker", "4"])
    if case.startswith("one worker"):
        own = ONE_WORKER.get(name, ["--num_worker", "1"])
    return render(name, kind, [*argv, *own], env)
