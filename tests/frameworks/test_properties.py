"""Whatever the platform says: it is refused, or every pod of the job is one that can be created."""

from typing import Any

import pytest
from frameworks.cases import DEFAULT, RENDERINGS, as_json, pod_templates, render, rendering_id
from hypothesis import given
from hypothesis import strategies as st
from manifest import rules

from dlf.errors import UsageError
from dlf.manifest.jobs.kind import JobKind

WORD = st.text("abyz019-._/ABC 图\udcff\n:", max_size=12)
MOUNT = st.builds(
    "{}({}):{}".format,
    st.sampled_from(["data", "/data/a", "/data-a", "10.0.0.1/a", "4", "8Gi", "dshm"]) | WORD,
    st.sampled_from(["pvc", "pvc-share", "nfs", "hostpath", "configmap", "secret", "memory"]),
    st.sampled_from(["/a", "/a/zhang", "/dev/shm", "/dev", "/etc/localtime"]) | WORD,
)
PLATFORM: dict[str, st.SearchStrategy[str]] = {
    "KFJ_RUN_ID": WORD,
    "KFJ_TASK_NAME": WORD,
    "KFJ_PIPELINE_NAME": WORD,
    "KFJ_CREATOR": st.sampled_from(["zhang", "shm"]) | WORD,
    "KFJ_RUNNER": WORD,
    "KFJ_TASK_PROJECT_NAME": WORD,
    "KFJ_TASK_RESOURCE_CPU": st.sampled_from(["2", "500m~2", "1(intel)"]) | WORD,
    "KFJ_TASK_RESOURCE_MEMORY": st.sampled_from(["2G", "1Gi~2Gi"]) | WORD,
    "KFJ_TASK_RESOURCE_GPU": st.sampled_from(["0", "-1", "2", "1(V100)", "8(npu,910B)"]) | WORD,
    "GPU_RESOURCE_NAME": st.sampled_from(["nvidia.com/gpu", "rdma/hca", "cpu"]) | WORD,
    "KFJ_TASK_RESOURCE_RDMA": st.sampled_from(["0", "1", "2(ib)"]),
    "RDMA_RESOURCE_NAME": st.sampled_from(["rdma/hca"]) | WORD,
    "KFJ_TASK_NODE_SELECTOR": st.sampled_from(["org=a,b", "gpu-type=T4"]) | WORD,
    "KFJ_TASK_VOLUME_MOUNT": st.lists(MOUNT, max_size=4).map(",".join),
    "HUBSECRET": st.sampled_from(["a,b"]) | WORD,
    "DEFAULT_POD_RESOURCES": st.sampled_from(['{"cpu": 1}', '{"a.io/b": "2"}']) | WORD,
    "SCHEDULER": st.sampled_from(["volcano", "default-scheduler"]) | WORD,
    "DLF_COMMAND": WORD,
    "DLF_WORKING_DIR": WORD,
    "DLF_ENV": st.sampled_from(["A=1\nB=$(A)", "NCCL_DEBUG="]) | WORD,
    "DLF_QUEUE": st.sampled_from(["team"]) | WORD,
}


@st.composite
def environments(draw: st.DrawFn) -> dict[str, str]:
    """A few variables at a time, or nearly everything would be refused."""
    names = draw(st.lists(st.sampled_from(list(PLATFORM)), max_size=4, unique=True))
    return DEFAULT | {name: draw(PLATFORM[name]) for name in names}


def faults(manifest: dict[str, Any]) -> list[str]:
    found = rules.metadata_faults(manifest["metadata"])
    for _, _, template in pod_templates(manifest):
        found += rules.pod_faults(template)
    return found


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
@given(env=environments())
def test_what_is_not_refused_renders_to_valid_pods(
    name: str, kind: JobKind, env: dict[str, str]
) -> None:
    """Names, labels, quantities, paths and variables; the API server would find no fault."""
    try:
        rendered = render(name, kind, env=env)
    except UsageError:
        return
    assert [] == faults(as_json(rendered))


def test_rules_find_faults() -> None:
    """The judge is no rubber stamp."""
    template = {
        "metadata": {"labels": {"a": "b c"}, "annotations": {"/a": "b"}},
        "spec": {
            "volumes": [{"name": "A"}, {"name": "A"}],
            "imagePullSecrets": [{"name": "a..b"}],
            "nodeSelector": {"a/b/c": "d"},
            "containers": [
                {
                    "name": "a_b",
                    "env": [{"name": "1", "value": "\udcff"}],
                    "command": ["\0"],
                    "volumeMounts": [
                        {"name": "x", "mountPath": "a:b", "subPath": ".."},
                        {"name": "A", "mountPath": "a:b"},
                    ],
                    "resources": {"limits": {"gpu": "many"}},
                }
            ],
        },
    }
    assert [
        "label 'a': 'b c'",
        "annotation '/a': 'b'",
        "volume 'A'",
        "volume 'A'",
        "secret {'name': 'a..b'}",
        "label 'a/b/c': 'd'",
        "a volume name twice: ['A', 'A']",
        "container 'a_b'",
        "env {'name': '1', 'value': '\\udcff'}",
        "env {'name': '1', 'value': '\\udcff'}",
        "command '\\x00'",
        "mount {'name': 'x', 'mountPath': 'a:b', 'subPath': '..'}",
        "mount path 'a:b'",
        "mount path 'a:b'",
        "sub-path {'name': 'x', 'mountPath': 'a:b', 'subPath': '..'}",
        "a mount path twice: ['a:b', 'a:b']",
        "resource 'gpu'",
        "quantity 'many'",
    ] == rules.pod_faults(template)
