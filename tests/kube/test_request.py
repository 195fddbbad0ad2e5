"""Method, URL, query, headers and body of every request, as they leave httpx."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
import respx
from virtual_loop import run

import dlf
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig, StaticToken
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Pod

SERVER = "http://api.test:6443"
JOBS = "/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs"
PODS = "/api/v1/namespaces/ml/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def sent(
    ask: Callable[[KubeClient], Awaitable[object]], answer: object = None, server: str = SERVER
) -> httpx.Request:
    """The one request that this makes, when the server answers so."""

    async def act() -> None:
        config = ClusterConfig(origin="test", server=server, credential=StaticToken("secret"))
        async with KubeClient(config) as client:
            await ask(client)

    with respx.mock(assert_all_called=False) as router:
        router.route().respond(json=answer or {})
        run(act())
        (call,) = router.calls
        request: httpx.Request = call.request
        return request


def parts(request: httpx.Request) -> tuple[str, str, dict[str, str]]:
    return request.method, request.url.path, dict(request.url.params)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        pytest.param(
            lambda c: c.create(PYTORCHJOB, "ml", b"{}"),
            ("POST", JOBS, {"fieldValidation": "Strict"}),
            id="create",
        ),
        pytest.param(
            lambda c: c.create(PYTORCHJOB, "ml", b"{}", dry_run=True, strict=False),
            ("POST", JOBS, {"fieldValidation": "Warn", "dryRun": "All"}),
            id="create, dry run, not strict",
        ),
        pytest.param(
            lambda c: c.get(VOLCANO_JOB, "ml", "j", dict),
            ("GET", "/apis/batch.volcano.sh/v1alpha1/namespaces/ml/jobs/j", {}),
            id="get",
        ),
        pytest.param(
            lambda c: c.get(POD, "ml", "a/../b", dict),
            ("GET", f"{PODS}/a/../b", {}),
            id="get, a name that is no name",
        ),
        pytest.param(
            lambda c: c.list(POD, "ml", Pod, label_selector="a=b,c in (d)", field_selector="x=y"),
            (
                "GET",
                PODS,
                {"labelSelector": "a=b,c in (d)", "fieldSelector": "x=y", "limit": "500"},
            ),
            id="list",
        ),
        pytest.param(
            lambda c: c.list(POD, "", Pod), ("GET", "/api/v1/pods", {"limit": "500"}), id="list all"
        ),
        pytest.param(
            lambda c: c.delete(MPIJOB_V2BETA1, "ml", "j"),
            ("DELETE", "/apis/kubeflow.org/v2beta1/namespaces/ml/mpijobs/j", {}),
            id="delete",
        ),
        pytest.param(
            lambda c: c.served_resources("kubeflow.org", "v1"),
            ("GET", "/apis/kubeflow.org/v1", {}),
            id="served",
        ),
        pytest.param(
            lambda c: c.served_resources("", "v1"), ("GET", "/api/v1", {}), id="served, core"
        ),
        pytest.param(
            lambda c: c.served_versions("kubeflow.org"),
            ("GET", "/apis/kubeflow.org", {}),
            id="served versions",
        ),
        pytest.param(
            lambda c: c.is_allowed("create", PYTORCHJOB, "ml"), ("POST", REVIEWS, {}), id="allowed"
        ),
    ],
)
def test_request_has_method_path_and_query(
    ask: Callable[[KubeClient], Awaitable[object]], expected: tuple[str, str, dict[str, str]]
) -> None:
    """Each request is exactly this, and nothing else goes out."""
    assert expected == parts(sent(ask, {"metadata": {"name": "j"}}))


def test_request_quotes_what_is_no_name() -> None:
    """A slash in a name cannot make another path of it."""
    request = sent(lambda c: c.get(POD, "ml", "a/../b", dict))
    assert f"{PODS}/a%2F..%2Fb".encode() == request.url.raw_path


def test_request_carries_headers() -> None:
    """Who we are, what we speak; bodies are JSON."""
    request = sent(lambda c: c.create(PYTORCHJOB, "ml", b'{"a": 1}'))
    expected = {
        "user-agent": f"dlf/{dlf.__version__}",
        "accept": "application/json",
        "accept-encoding": "gzip",
        "authorization": "Bearer secret",
        "content-type": "application/json",
        "content-length": "8",
        "connection": "keep-alive",
        "host": "api.test:6443",
    }
    assert expected == dict(request.headers)
    assert b'{"a": 1}' == request.content


def test_request_of_a_watch() -> None:
    """A watch asks for bookmarks, for no compression, and says how long it may live."""

    async def ask(client: KubeClient) -> None:
        async with client.watch(
            POD, "ml", label_selector="a=b", resource_version="7", timeout_seconds=300
        ) as events:
            assert [] == [event async for event in events]

    request = sent(ask)
    query = {
        "labelSelector": "a=b",
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "300",
    }
    assert ("GET", PODS, query) == parts(request)
    assert "identity" == request.headers["Accept-Encoding"]
    assert {"connect": 10.0, "read": 330.0, "write": 65.0, "pool": None} == request.extensions[
        "timeout"
    ]


@pytest.mark.parametrize(
    ("options", "query", "read"),
    [
        pytest.param({}, {"follow": "true", "timestamps": "true"}, None, id="follow"),
        pytest.param(
            {"since_time": "2026-01-02T03:04:05Z", "timestamps": False},
            {"follow": "true", "sinceTime": "2026-01-02T03:04:05Z"},
            None,
            id="since",
        ),
        pytest.param(
            {"follow": False, "previous": True, "tail_lines": 0, "limit_bytes": 10},
            {"previous": "true", "timestamps": "true", "tailLines": "0", "limitBytes": "10"},
            65.0,
            id="previous",
        ),
    ],
)
def test_request_of_a_log(options: dict[str, Any], query: dict[str, str], read: float) -> None:
    """Only a log that is followed may be silent for ever."""

    async def ask(client: KubeClient) -> None:
        async with client.open_log("ml", "p", "c", **options) as log:
            await log.read()

    request = sent(ask)
    assert ("GET", f"{PODS}/p/log", {"container": "c"} | query) == parts(request)
    assert read == request.extensions["timeout"]["read"]
    assert "identity" == request.headers["Accept-Encoding"]


@pytest.mark.parametrize(
    ("options", "body"),
    [
        pytest.param({}, {"propagationPolicy": "Background"}, id="background"),
        pytest.param(
            {"uid": "u", "foreground": True},
            {"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}},
            id="foreground, of this uid",
        ),
    ],
)
def test_request_of_a_deletion(options: dict[str, Any], body: dict[str, object]) -> None:
    """How to delete stands in the body."""
    request = sent(lambda c: c.delete(PYTORCHJOB, "ml", "j", **options))
    assert {"kind": "DeleteOptions", "apiVersion": "v1"} | body == json.loads(request.content)


def test_request_of_an_access_review() -> None:
    """The question is RBAC's; what is empty is left out."""
    request = sent(lambda c: c.is_allowed("get", ("", "pods", "log"), "ml"))
    expected = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "verb": "get",
                "resource": "pods",
                "subresource": "log",
                "namespace": "ml",
            }
        },
    }
    assert expected == json.loads(request.content)


def test_request_keeps_the_path_of_the_server() -> None:
    """A gateway serves many clusters, each below a path of its own."""
    request = sent(
        lambda c: c.get(PYTORCHJOB, "ml", "j", Job),
        {"metadata": {"name": "j"}},
        server="http://gateway.test/k8s/clusters/c-1",
    )
    assert f"http://gateway.test/k8s/clusters/c-1{JOBS}/j" == str(request.url)
