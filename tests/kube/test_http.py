"""The mapping of what can go wrong: complete, and in words."""

import asyncio
import inspect

import httpx
import pytest
import respx
from virtual_loop import run

from dlf.errors import ClusterLost, Rejected, UsageError
from dlf.kube.api_errors import Action, Unavailable
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.http import HttpClient
from dlf.kube.request import ApiRequest
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

SERVER = "http://api.test"
ASK = ApiRequest(action=Action("list", "pods", "ml"), path="/api/v1/pods")

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


@pytest.mark.parametrize("kind", EXCEPTIONS)
@respx.mock
def test_http_maps_every_exception_of_httpx(kind: type[Exception]) -> None:
    """Whatever httpx can raise comes out as one of ours."""
    respx.route().mock(side_effect=kind("why"))

    async def act() -> None:
        http = HttpClient(ClusterConfig(origin="test", server=SERVER))
        with pytest.raises((Unavailable, UsageError)) as error:
            await http.fetch(ASK)
        assert "why" in str(error.value)
        await http.aclose()

    run(act())


@respx.mock
def test_http_names_an_exception_that_says_nothing() -> None:
    """httpx's ReadError has no words of its own: its name has to do."""
    respx.route().mock(side_effect=httpx.ReadError(""))

    async def act() -> None:
        async with KubeClient(
            ClusterConfig(origin="test", server=SERVER), outage_budget=1.0
        ) as client:
            with pytest.raises(ClusterLost, match=r": the connection broke$"):
                await client.list(POD, "ml", Pod)

    run(act())


@pytest.mark.parametrize(
    ("server", "words"),
    [
        pytest.param("http://127.0.0.1:1", "connection refused", id="nobody listens"),
        pytest.param("http://no.such.host.invalid", "[nN]ame", id="no such host"),
    ],
)
def test_http_tells_why_there_is_no_connection(server: str, words: str) -> None:
    """Refused connections and unknown hosts are tried again, and told at the end."""

    async def act() -> None:
        async with KubeClient(
            ClusterConfig(origin="test", server=server), outage_budget=5.0
        ) as client:
            with pytest.raises(ClusterLost, match=words):
                await client.list(POD, "ml", Pod)

    run(act())


def test_http_never_loads_authorities_of_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """The context is ours: certifi's file is not in the binary."""

    def refuse() -> str:
        raise AssertionError("certifi was asked")

    monkeypatch.setattr("certifi.where", refuse)

    async def act() -> None:
        for server in (SERVER, "https://api.test"):
            config = ClusterConfig(origin="t", server=server, insecure=True)
            await HttpClient(config).aclose()
            await HttpClient(
                ClusterConfig(origin="t", server=SERVER, proxy="https://p.test")
            ).aclose()

    run(act())


@respx.mock
def test_http_ignores_proxies_and_netrc_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the kubeconfig says what is between us and the server."""
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test")
    monkeypatch.setenv("ALL_PROXY", "http://proxy.test")
    respx.get(f"{SERVER}/api/v1/pods").respond(json={})

    async def act() -> None:
        http = HttpClient(ClusterConfig(origin="test", server=SERVER))
        assert b"{}" == await http.fetch(ASK)
        assert "Authorization" not in respx.calls.last.request.headers
        await http.aclose()

    run(act())


@respx.mock
def test_http_gives_a_refusal_the_second_time_it_is_401() -> None:
    """A credential is asked for anew once, not for ever."""
    route = respx.route().respond(401, json={"message": "Unauthorized", "reason": "Unauthorized"})

    async def act() -> None:
        http = HttpClient(ClusterConfig(origin="test", server=SERVER))
        with pytest.raises(Rejected, match="cannot list pods in namespace ml: Unauthorized"):
            await http.fetch(ASK)
        await http.aclose()

    run(act())
    assert 2 == route.call_count


def test_http_through_a_proxy() -> None:
    """A plain request goes to the proxy with its whole URL; its password too."""
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def act() -> None:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        address = f"http://me:pw@127.0.0.1:{port}"
        http = HttpClient(ClusterConfig(origin="test", server=SERVER, proxy=address))
        assert b"{}" == await http.fetch(ASK)
        await http.aclose()
        server.close()

    run(act())
    assert heads[0].startswith(b"GET http://api.test/api/v1/pods HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cHc=" in heads[0]
