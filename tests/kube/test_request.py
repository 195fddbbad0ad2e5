"""Method, URL, query, headers and body of every request, as they reach the server."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fake_api.http_server import HttpServer, Reply, Request
from virtual_loop import run

import dlf
from dlf.kube import request as requests
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig, StaticToken
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Pod

JOBS = "/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs"
PODS = "/api/v1/namespaces/ml/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def sent(
    ask: Callable[[KubeClient], Awaitable[object]], answer: object = None, path: str = ""
) -> Request:
    """The one request that this makes, when the server at this path answers so."""
    seen: list[Request] = []

    async def handle(request: Request, reply: Reply) -> None:
        seen.append(request)
        await reply.send(200, json.dumps(answer or {}).encode())

    async def act() -> None:
        server = HttpServer(handle)
        await server.start()
        url = f"{server.url}{path}"
        config = ClusterConfig(origin="test", server=url, credential=StaticToken("secret"))
        async with KubeClient(config) as client:
            await ask(client)
        await server.stop()

    run(act())
    (request,) = seen
    return request


def parts(request: Request) -> tuple[str, str, dict[str, str]]:
    return request.method, request.path, request.query


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
    assert f"{PODS}/a%2F..%2Fb" == requests.get(POD, "ml", "a/../b").path


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
    }
    headers = dict(request.headers)
    assert headers.pop("host").startswith("127.0.0.1:")
    assert expected == headers
    assert b'{"a": 1}' == request.body


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
    assert "identity" == request.headers["accept-encoding"]


def test_watch_may_be_silent_a_little_longer_than_it_may_live() -> None:
    """Then the connection is dead."""
    request = requests.watch(
        POD, "ml", label_selector="", field_selector="", resource_version="7", timeout_seconds=300
    )
    assert 330.0 == request.read_timeout


@pytest.mark.parametrize(
    ("options", "query"),
    [
        pytest.param({}, {"follow": "true", "timestamps": "true"}, id="follow"),
        pytest.param(
            {"since_time": "2026-01-02T03:04:05Z", "timestamps": False},
            {"follow": "true", "sinceTime": "2026-01-02T03:04:05Z"},
            id="since",
        ),
        pytest.param(
            {"follow": False, "previous": True, "tail_lines": 0, "limit_bytes": 10},
            {"previous": "true", "timestamps": "true", "tailLines": "0", "limitBytes": "10"},
            id="previous",
        ),
    ],
)
def test_request_of_a_log(options: dict[str, Any], query: dict[str, str]) -> None:
    """A log is asked for with timestamps, and not compressed."""

    async def ask(client: KubeClient) -> None:
        async with client.open_log("ml", "p", "c", **options) as log:
            await log.read()

    request = sent(ask)
    assert ("GET", f"{PODS}/p/log", {"container": "c"} | query) == parts(request)
    assert "identity" == request.headers["accept-encoding"]


@pytest.mark.parametrize(("follow", "expected"), [(True, None), (False, 65.0)])
def test_only_a_log_that_is_followed_may_be_silent_for_ever(
    follow: bool, expected: float | None
) -> None:
    """A container may write nothing for days."""
    options: dict[str, Any] = {"since_time": "", "previous": False, "timestamps": True}
    request = requests.log(
        "ml", "p", "c", follow=follow, tail_lines=None, limit_bytes=None, **options
    )
    assert expected == request.read_timeout


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
    assert {"kind": "DeleteOptions", "apiVersion": "v1"} | body == json.loads(request.body)


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
    assert expected == json.loads(request.body)


def test_request_keeps_the_path_of_the_server() -> None:
    """A gateway serves many clusters, each below a path of its own."""
    request = sent(
        lambda c: c.get(PYTORCHJOB, "ml", "j", Job),
        {"metadata": {"name": "j"}},
        path="/k8s/clusters/c-1",
    )
    assert f"/k8s/clusters/c-1{JOBS}/j" == request.path
