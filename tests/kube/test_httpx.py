"""What httpx answers or raises, played by respx in place of our transport, is mapped."""

import inspect
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx
from virtual_loop import run

from dlf.errors import ClusterLost, Rejected, UsageError
from dlf.kube.api_errors import Action, Unavailable
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig, StaticToken
from dlf.kube.http import HttpClient
from dlf.kube.request import ApiRequest
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

SERVER = "https://api.test:6443"
PODS = ApiRequest(action=Action("list", "pods", "ml"), path="/api/v1/namespaces/ml/pods")

OUR_BUGS = {
    httpx.HTTPError,  # the abstract root
    httpx.HTTPStatusError,  # raise_for_status is never called
    httpx.CookieConflict,  # no cookies are read
    httpx.StreamError,
    httpx.StreamConsumed,
    httpx.StreamClosed,
    httpx.ResponseNotRead,
    httpx.RequestNotRead,
}
EXCEPTIONS = sorted(
    {
        each
        for _, each in inspect.getmembers(httpx, inspect.isclass)
        if issubclass(each, Exception) and each not in OUR_BUGS
    },
    key=lambda each: each.__name__,
)


@pytest.fixture
def router() -> Iterator[respx.MockRouter]:
    """Takes the place of every transport of httpx."""
    with respx.mock(using="httpx", assert_all_called=False) as mocked:
        yield mocked


def fetch(**config: Any) -> bytes:
    """What the client makes of the answer to `PODS`."""

    async def act() -> bytes:
        http = HttpClient(ClusterConfig(**{"origin": "test", "server": SERVER} | config))
        try:
            return await http.fetch(PODS)
        finally:
            await http.aclose()

    return run(act())


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_http_maps_every_exception_of_httpx(
    router: respx.MockRouter, kind: type[Exception]
) -> None:
    """Whatever httpx can raise comes out as one of ours, with its words."""
    router.route().mock(side_effect=kind("why"))
    with pytest.raises((Unavailable, UsageError), match="why"):
        fetch()


def test_http_names_an_exception_that_says_nothing(router: respx.MockRouter) -> None:
    """httpx's ReadError has no words of its own: its name has to do."""
    router.route().mock(side_effect=httpx.ReadError(""))

    async def act() -> None:
        config = ClusterConfig(origin="test", server=SERVER)
        async with KubeClient(config, outage_budget=1.0) as client:
            await client.list(POD, "ml", Pod)

    with pytest.raises(ClusterLost, match="ReadError"):
        run(act())


def test_request_leaves_httpx_whole(router: respx.MockRouter) -> None:
    """URL, credential and headers, and how long the answer may take."""
    route = router.get(f"{SERVER}{PODS.path}").respond(json={"items": []})
    assert b'{"items":[]}' == fetch(credential=StaticToken("secret"))
    request = route.calls.last.request
    assert "Bearer secret" == request.headers["Authorization"]
    assert "gzip" == request.headers["Accept-Encoding"]
    assert request.headers["User-Agent"].startswith("dlf/")
    assert PODS.read_timeout == request.extensions["timeout"]["read"]


@pytest.mark.parametrize("status", [300, 302, 400, 403, 404, 409, 410, 422])
def test_http_maps_refusals(router: respx.MockRouter, status: int) -> None:
    """No redirect is followed, and the server's own words are told."""
    route = router.route().respond(
        status, json={"message": "no"}, headers={"Location": "https://elsewhere.test"}
    )
    with pytest.raises(Rejected, match="no") as refused:
        fetch()
    assert (status, 1) == (refused.value.status, route.call_count)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        pytest.param(429, {"Retry-After": "7"}, 7.0, id="too many requests"),
        pytest.param(503, {}, 0.0, id="not available"),
        pytest.param(500, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0, id="a date"),
    ],
)
def test_http_maps_what_may_work_later(
    router: respx.MockRouter, status: int, headers: dict[str, str], seconds: float
) -> None:
    """How long to wait is the server's word, when it is a number."""
    router.route().respond(status, json={"message": "busy"}, headers=headers)
    with pytest.raises(Unavailable, match="busy") as later:
        fetch()
    assert seconds == later.value.retry_after
