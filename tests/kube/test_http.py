"""The mapping of what can go wrong: complete, and in words."""

from pathlib import Path
from typing import Any

import pytest
from fake_api.http_server import Handler, HttpServer, Reply, Request
from virtual_loop import run

from dlf.errors import ClusterLost, Rejected
from dlf.kube.api_errors import Action, Unavailable
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.http import HttpClient
from dlf.kube.request import ApiRequest
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

SERVER = "http://api.test"
ASK = ApiRequest(action=Action("list", "pods", "ml"), path="/api/v1/pods")


def ask(handle: Handler, **config: Any) -> bytes:
    """What a server with this handler answers to `ASK`."""

    async def act() -> bytes:
        server = HttpServer(handle)
        await server.start()
        http = HttpClient(ClusterConfig(**{"origin": "test", "server": server.url} | config))
        try:
            return await http.fetch(ASK)
        finally:
            await http.aclose()
            await server.stop()

    return run(act())


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(b"", "the server closed the connection", id="nothing"),
        pytest.param(b"?\r\n\r\n", "illegal status line", id="no HTTP"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
            "the connection ended inside the body",
            id="half a body",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
            "Error -3",
            id="bad gzip",
        ),
    ],
)
def test_http_maps_what_a_broken_server_does(sent: bytes, words: str) -> None:
    """It may work later, and the user is told what was wrong."""

    async def handle(_: Request, reply: Reply) -> None:
        reply._writer.write(sent)
        await reply._writer.drain()
        reply._writer.close()

    with pytest.raises(Unavailable, match=words):
        ask(handle)


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


def test_http_ignores_the_process_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proxies come with the configuration, and credentials from no .netrc."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password pw")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    headers: list[dict[str, str]] = []

    async def handle(request: Request, reply: Reply) -> None:
        headers.append(request.headers)
        await reply.send(200, b"{}")

    assert b"{}" == ask(handle)
    assert "authorization" not in headers[0]


def test_http_gives_a_refusal_the_second_time_it_is_401() -> None:
    """A credential is renewed once, not for ever."""
    count = 0

    async def handle(_: Request, reply: Reply) -> None:
        nonlocal count
        count += 1
        await reply.send(401, b'{"message": "Unauthorized", "reason": "Unauthorized"}')

    with pytest.raises(Rejected, match="cannot list pods in namespace ml: Unauthorized"):
        ask(handle)
    assert 2 == count
