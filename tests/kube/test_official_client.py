"""A second opinion: the official client reads, through the same server, what dlf does."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import kubernetes
import pytest
from fake_api.thread import ApiThread

from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Pod

T = TypeVar("T")

# Half of its functions have types, and its models say None of what a server always sends.
k8s: Any = kubernetes

JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "j", "labels": {"app": "dlf"}},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}}},
}
POD_J: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "j-master-0", "labels": {"training.kubeflow.org/job-name": "j"}},
    "spec": {"containers": [{"name": "pytorch", "image": "i"}]},
    "status": {"phase": "Running"},
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiThread]:
    with ApiThread(tmp_path) as server:
        yield server


@pytest.fixture
def official(server: ApiThread) -> Iterator[Any]:
    """The official client, of the kubeconfig that dlf gets too."""
    with k8s.config.new_client_from_config(str(server.kubeconfig)) as client:
        yield client


def ours(server: ApiThread, ask: Callable[[KubeClient], Awaitable[T]]) -> T:
    """Ask with dlf's client."""

    async def act() -> T:
        async with KubeClient(load_config({}, kubeconfig=str(server.kubeconfig))) as client:
            return await ask(client)

    return asyncio.run(act())


def test_official_client_reads_what_dlf_created(server: ApiThread, official: Any) -> None:
    """The same object, field by field."""
    created = ours(server, lambda c: c.create(PYTORCHJOB, "ml", json.dumps(JOB).encode()))
    custom = k8s.client.CustomObjectsApi(official)
    read = custom.get_namespaced_custom_object("kubeflow.org", "v1", "ml", "pytorchjobs", "j")
    assert json.loads(created) == read
    assert JOB["spec"] == read["spec"]


def test_dlf_reads_what_the_official_client_created(server: ApiThread, official: Any) -> None:
    """And the other way round, with its status."""
    custom = k8s.client.CustomObjectsApi(official)
    address = ("kubeflow.org", "v1", "ml", "pytorchjobs")
    custom.create_namespaced_custom_object(*address, JOB, field_validation="Strict")
    status = {"status": {"conditions": [{"type": "Running", "status": "True"}]}}
    custom.patch_namespaced_custom_object_status(*address, "j", status)
    job = ours(server, lambda c: c.get(PYTORCHJOB, "ml", "j", Job))
    assert job is not None
    assert job.status is not None
    assert ["Running"] == [each.type for each in job.status.conditions or ()]


def test_official_client_lists_the_pods_that_dlf_lists(server: ApiThread, official: Any) -> None:
    """By the same selector; its models take the fake server's pods."""
    server.call(lambda api: api.store.create(api.collection("pods", "ml"), POD_J))
    selector = "training.kubeflow.org/job-name=j"
    core = k8s.client.CoreV1Api(official)
    theirs = core.list_namespaced_pod("ml", label_selector=selector)
    items, version = ours(server, lambda c: c.list(POD, "ml", Pod, label_selector=selector))
    assert [("j-master-0", "Running")] == [(p.metadata.name, p.status.phase) for p in theirs.items]
    assert [("j-master-0", "Running")] == [(p.metadata.name, p.status.phase) for p in items]
    assert theirs.metadata.resource_version == version


def test_official_client_watches_the_fake_server(server: ApiThread, official: Any) -> None:
    """The events and versions are such that it can follow."""
    server.call(lambda api: api.store.create(api.collection("pods", "ml"), POD_J))
    core = k8s.client.CoreV1Api(official)
    seen = []
    watch = k8s.watch.Watch()
    for event in watch.stream(core.list_namespaced_pod, "ml", timeout_seconds=60):
        seen.append((event["type"], event["object"].status.phase))
        match event["type"]:
            case "ADDED":
                status = {"status": {"phase": "Succeeded"}}
                core.patch_namespaced_pod_status("j-master-0", "ml", status)
            case "MODIFIED":
                core.delete_namespaced_pod("j-master-0", "ml")
            case _:
                watch.stop()
    assert [("ADDED", "Running"), ("MODIFIED", "Succeeded"), ("DELETED", "Succeeded")] == seen


def test_official_client_reads_the_log_that_dlf_reads(server: ApiThread, official: Any) -> None:
    """The same lines, with the same times."""

    def prepare(api: Any) -> None:
        api.store.create(api.collection("pods", "ml"), POD_J)
        log = api.logs.of("ml", "j-master-0", "pytorch")
        log.write("one", "two")
        log.end()

    server.call(prepare)

    async def read(client: KubeClient) -> bytes:
        async with client.open_log("ml", "j-master-0", "pytorch") as log:
            return b"".join([batch async for batch in batches(log)])

    core = k8s.client.CoreV1Api(official)
    theirs = core.read_namespaced_pod_log(
        "j-master-0", "ml", container="pytorch", timestamps=True, _preload_content=False
    )
    content = ours(server, read)
    assert theirs.data == content
    assert [b"one", b"two"] == [line.split(b" ", 1)[1] for line in content.splitlines()]


async def batches(log: Any) -> Any:
    while batch := await log.read():
        yield batch


def test_official_client_is_refused_like_dlf(server: ApiThread, official: Any) -> None:
    """Status objects are the real ones' shape: reason and code arrive."""
    core = k8s.client.CoreV1Api(official)
    with pytest.raises(k8s.client.ApiException) as error:
        core.read_namespaced_pod("none", "ml")
    assert (404, "NotFound") == (error.value.status, json.loads(error.value.body)["reason"])


def test_official_client_discovers_the_fake_server(server: ApiThread, official: Any) -> None:
    """Groups and versions have the shape of the real ones."""
    groups = k8s.client.ApisApi(official).get_api_versions().groups
    versions = {group.name: [each.version for each in group.versions] for group in groups}
    assert ["v1", "v2beta1"] == versions["kubeflow.org"]
    assert ("v1", "v2beta1") == ours(server, lambda c: c.served_versions("kubeflow.org"))
