"""Which nodes a pod may run on, and what is mounted there."""

from collections.abc import Mapping

import pytest
from frameworks.pods import container, pod

PERSONAL = {"KFJ_CREATOR": "zhang"}


def mounts(env: Mapping[str, str]) -> dict[str, str]:
    """Mount path to volume name."""
    return {m["mountPath"]: m["name"] for m in container(env=env)["volumeMounts"]}


def test_node_labels_with_one_value_are_a_selector_the_rest_affinity() -> None:
    """`org=a,b` means either."""
    found = pod(env={"KFJ_TASK_NODE_SELECTOR": "org=a,b,train=true"})
    assert {"train": "true"} == found["nodeSelector"]
    assert {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "org", "operator": "In", "values": ["a", "b"]}]}
            ]
        }
    } == found["affinity"]["nodeAffinity"]


def test_node_labels_default_to_those_of_training_nodes() -> None:
    """As the platform labels them."""
    assert {"cpu": "true", "train": "true"} == pod()["nodeSelector"]


@pytest.mark.parametrize("volumes", ["", "a(pvc-share):/a"])
def test_shared_memory_is_always_mounted(volumes: str) -> None:
    """64 MiB of the container runtime are too few for training."""
    found = pod(env={"KFJ_TASK_VOLUME_MOUNT": volumes})
    assert {"name": "dshm", "emptyDir": {"medium": "Memory"}} in found["volumes"]
    mount = {"name": "dshm", "mountPath": "/dev/shm"}
    assert mount in found["containers"][0]["volumeMounts"]


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ("a(pvc-share):/a", {"/a": "a", "/etc/localtime": "tz-config", "/dev/shm": "dshm"}),
        ("a(pvc):/a", {"/a/zhang": "a", "/etc/localtime": "tz-config", "/dev/shm": "dshm"}),
        ("4(memory):/dev/shm", {"/dev/shm": "4gi", "/etc/localtime": "tz-config"}),
        (
            "/usr/share/zoneinfo/Asia/Shanghai(hostpath):/etc/localtime",
            {"/etc/localtime": "usr-share-zoneinfo-asia-shanghai", "/dev/shm": "dshm"},
        ),
        (
            "/usr/share/zoneinfo/UTC(hostpath):/etc/localtime",
            {"/etc/localtime": "usr-share-zoneinfo-utc", "/dev/shm": "dshm"},
        ),
        (
            "/data/x(hostpath):/a,data-x(pvc-share):/b",
            {
                "/a": "data-x",
                "/b": "data-x-1",
                "/etc/localtime": "tz-config",
                "/dev/shm": "dshm",
            },
        ),
        (
            "dshm(pvc-share):/a,tz-config(pvc-share):/b",
            {
                "/a": "dshm-1",
                "/b": "tz-config-1",
                "/etc/localtime": "tz-config",
                "/dev/shm": "dshm",
            },
        ),
        (
            "a(pvc):/a,b(pvc-share):/a/zhang",
            {"/a/zhang": "a", "/etc/localtime": "tz-config", "/dev/shm": "dshm"},
        ),
        ("", {"/dev/shm": "dshm"}),
    ],
)
def test_volumes_are_mounted_once_under_names_of_their_own(
    volumes: str, expected: dict[str, str]
) -> None:
    """The time zone comes with any volume, the task's own mounts come first."""
    assert expected == mounts(PERSONAL | {"KFJ_TASK_VOLUME_MOUNT": volumes})


def test_personal_volume_without_a_person_is_whole() -> None:
    """There is no sub-path to take."""
    assert {"name": "a", "mountPath": "/a"} in container(
        env={"KFJ_TASK_VOLUME_MOUNT": "a(pvc):/a"}
    )["volumeMounts"]
