"""Proxies: which one, by the rules of kubectl, and what goes through it."""

import asyncio
import ssl
from typing import Any

import pytest
from fake_api import FakeApi
from fake_api.certificates import Authority
from kube.http_proxy import HttpProxy, close
from virtual_loop import run

from dlf.errors import ClusterLost, UsageError
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig
from dlf.kube.proxy import proxy_from_environment
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

OURS = Authority()
PROXY = "http://proxy.test:3128"


@pytest.mark.parametrize(
    ("server", "env", "expected"),
    [
        ("https://api.test", {}, ("", "")),
        ("https://api.test", {"HTTPS_PROXY": PROXY}, (PROXY, "HTTPS_PROXY")),
        ("https://api.test", {"https_proxy": PROXY}, (PROXY, "https_proxy")),
        ("https://api.test", {"HTTPS_PROXY": "", "https_proxy": PROXY}, (PROXY, "https_proxy")),
        ("https://api.test", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, ("", "")),
        ("http://api.test", {"HTTP_PROXY": PROXY}, (PROXY, "HTTP_PROXY")),
        ("http://api.test", {"HTTPS_PROXY": PROXY}, ("", "")),
        ("https://api.test", {"HTTPS_PROXY": "proxy.test:3128"}, (PROXY, "HTTPS_PROXY")),
        ("https://api.test", {"HTTPS_PROXY": "https://p/"}, ("https://p", "HTTPS_PROXY")),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ("", "")),
        ("https://127.1.2.3:6443", {"HTTPS_PROXY": PROXY}, ("", "")),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ("", "")),
    ],
)
def test_proxy_is_found_in_the_environment(
    server: str, env: dict[str, str], expected: tuple[str, str]
) -> None:
    """By the scheme of the server; upper case first; loopback never."""
    assert expected == proxy_from_environment(server, env)


@pytest.mark.parametrize(
    ("server", "no_proxy", "excepted"),
    [
        ("https://api.test", "*", True),
        ("https://api.test", "", False),
        ("https://api.test", " , other", False),
        ("https://api.test", "API.test ,x", True),
        ("https://a.api.test", "api.test", True),
        ("https://xapi.test", "api.test", False),
        ("https://api.test", ".api.test", False),
        ("https://a.api.test", ".api.test", True),
        ("https://api.test", "*.api.test", False),
        ("https://a.api.test", "*.api.test", True),
        ("https://api.test", "*api.test", False),
        ("https://api.test:6443", "api.test:6443", True),
        ("https://api.test:6443", "api.test:443", False),
        ("https://api.test", "api.test:443", True),
        ("https://10.96.0.1", "10.96.0.1", True),
        ("https://10.96.0.1", "10.96.0.0/12", True),
        ("https://10.96.0.1", "10.96.0.1:443", True),
        ("https://10.96.0.1", "10.96.0.1:6443", False),
        ("https://10.96.0.1", "10.0.0.0/16", False),
        ("https://10.96.0.1", "10.96.0.0/x", False),
        ("https://10.96.0.1", "96.0.1", True),
        ("https://api.test", "10.0.0.0/8", False),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "[fd00::1]:443", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://api.test", ":443", False),
    ],
)
def test_no_proxy_excepts_servers(server: str, no_proxy: str, excepted: bool) -> None:
    """Names with their subdomains, addresses, networks; each perhaps for one port only."""
    env = {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}
    assert excepted is (proxy_from_environment(server, env)[0] == "")
    lower = {"HTTPS_PROXY": PROXY, "no_proxy": no_proxy}
    assert excepted is (proxy_from_environment(server, lower)[0] == "")


@pytest.mark.parametrize("url", ["socks5://p:1", "http://p:x", "http://", "http://p:0"])
def test_proxy_of_the_environment_that_is_wrong(url: str) -> None:
    """The message names the variable, its value and what to write."""
    with pytest.raises(UsageError, match=r"https_proxy is `.*`, not http://HOST:PORT") as error:
        proxy_from_environment("https://api.test", {"https_proxy": url})
    assert "NO_PROXY=api.test connects to the API server without a proxy" == error.value.hint


def through(
    proxy_tls: ssl.SSLContext | None = None,
    refusal: bytes = b"",
    tls: ssl.SSLContext | None = None,
    **config: Any,
) -> list[bytes]:
    """List pods, and read a log, through a proxy; the heads that it saw."""

    async def act() -> list[bytes]:
        async with FakeApi(tls or OURS.server()) as api, HttpProxy(proxy_tls) as proxy:
            proxy.refusal = refusal
            scheme = "https" if proxy_tls else "http"
            whole = {
                "origin": "kube.yaml",
                "server": api.url,
                "ca": OURS.pem,
                "proxy": f"{scheme}://me:p%40w@127.0.0.1:{proxy.port}",
                "proxy_origin": "HTTPS_PROXY",
            }
            pods = api.collection("pods", "ml")
            spec = {"containers": [{"name": "c"}]}
            api.store.create(pods, {"metadata": {"name": "p"}, "spec": spec})
            log = api.logs.of("ml", "p", "c")
            log.write(*["x" * 100] * 1000, at="2026-01-02T03:04:05.000000001Z")
            log.end()
            async with KubeClient(ClusterConfig(**whole | config)) as client:
                items, _ = await client.list(POD, "ml", Pod)
                assert ["p"] == [item.metadata.name for item in items]
                async with client.open_log("ml", "p", "c") as stream:
                    size = 0
                    while data := await stream.read():
                        size += len(data)
                assert 1000 * 132 == size
            return proxy.heads

    return run(act())


@pytest.mark.parametrize("proxy_tls", [False, True])
def test_https_goes_through_a_tunnel(proxy_tls: bool) -> None:
    """CONNECT with the proxy's password, then TLS with the server; also inside TLS."""
    heads = through(OURS.server() if proxy_tls else None)
    assert heads[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"\r\nProxy-Authorization: Basic bWU6cEB3\r\n" in heads[0]
    assert 1 == len(heads)  # the list's connection served the log, too


def test_tunnel_verifies_the_server_by_its_tls_server_name() -> None:
    """The proxy is not asked who the server is."""
    server = OURS.server("kubernetes.default.svc")
    assert 1 == len(through(tls=server, tls_server_name="kubernetes.default.svc"))
    with pytest.raises(UsageError, match=r"the certificate of https://127.* is not accepted"):
        through(tls=server)


@pytest.mark.parametrize(
    "refusal", [b"407 Proxy Authentication Required", b"403 Forbidden", b"502 Bad Gateway"]
)
def test_proxy_that_refuses_is_told(refusal: bytes) -> None:
    """At once, in its words, without its password, and where it was configured."""
    words = (
        rf"the proxy http://127\.0\.0\.1:\d+ does not connect to 127\S+: HTTP {refusal.decode()}"
    )
    with pytest.raises(UsageError, match=words) as error:
        through(refusal=refusal)
    assert "the proxy is named by HTTPS_PROXY" == error.value.hint


def test_proxy_whose_certificate_is_not_accepted_is_told() -> None:
    """It is not the server's certificate that is wrong."""
    with pytest.raises(UsageError, match=r"no TLS connection to the proxy https://127.*issuer"):
        through(Authority().server())


def test_http_is_sent_to_the_proxy_itself() -> None:
    """A plain request goes to the proxy with its whole URL, and its password."""

    async def act() -> list[bytes]:
        async with HttpProxy() as proxy:
            config = ClusterConfig(
                origin="test",
                server="http://api.test",
                proxy=f"http://me:pw@127.0.0.1:{proxy.port}",
            )
            async with KubeClient(config) as client:
                await client.list(POD, "ml", Pod)
            return proxy.heads

    (head,) = run(act())
    assert head.startswith(b"GET http://api.test/api/v1/namespaces/ml/pods?limit=500 HTTP/1.1\r\n")
    assert b"\r\nHost: api.test\r\n" in head
    assert b"\r\nProxy-Authorization: Basic bWU6cHc=\r\n" in head


def test_proxy_that_says_nothing_is_given_up_in_time() -> None:
    """Ten seconds are for connecting, through the tunnel too."""

    closed = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        await close(writer)
        closed.set()

    async def act() -> float:
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        config = ClusterConfig(
            origin="test",
            server="https://api.test",
            ca=OURS.pem,
            proxy=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
        )
        async with server, KubeClient(config, outage_budget=0.0) as client:
            with pytest.raises(ClusterLost, match=r"no connection to 127.* in 10 s"):
                await client.list(POD, "ml", Pod)
            await closed.wait()
            return asyncio.get_running_loop().time()

    assert pytest.approx(10.0, abs=0.1) == run(act())
