"""TLS over real sockets: what is trusted, what is not, and in which words."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi
from fake_api.certificates import Authority
from virtual_loop import run

from dlf.errors import UsageError
from dlf.kube import tls
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClientCertificate, ClusterConfig
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

OURS = Authority()
OTHER = Authority()


def pair(certificate: bytes, key: bytes) -> ClientCertificate:
    return ClientCertificate(origin="kube.yaml", certificate=certificate, key=key)


def ask(server: ssl.SSLContext, **config: Any) -> list[Pod]:
    """List pods over TLS."""

    async def act() -> list[Pod]:
        async with FakeApi(server) as api:
            whole = ClusterConfig(**{"origin": "kube.yaml", "server": api.url} | config)
            async with KubeClient(whole) as client:
                items, _ = await client.list(POD, "ml", Pod)
                return items

    return run(act())


def test_tls_trusts_the_authority_of_the_configuration() -> None:
    """The server's certificate is signed by it, for the server's address."""
    assert [] == ask(OURS.server(), ca=OURS.pem)


def test_tls_trusts_a_bundle() -> None:
    """Any of several authorities will do."""
    assert [] == ask(OURS.server(), ca=OTHER.pem + OURS.pem)


def test_tls_trusts_the_file_of_ssl_cert_file(tmp_path: Path) -> None:
    """Without an authority of its own, a kubeconfig means the system's."""
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(OURS.pem)
    assert [] == ask(OURS.server(), ca_file=str(bundle))


def test_tls_looks_where_distributions_keep_authorities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file that exists is taken; a static binary knows no path of its own."""
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(OURS.pem)
    monkeypatch.setattr(tls, "SYSTEM_FILES", (str(tmp_path / "none"), str(bundle)))
    assert [] == ask(OURS.server())


def test_tls_says_that_there_are_no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scratch image has none."""
    monkeypatch.setattr(tls, "SYSTEM_FILES", ())
    with pytest.raises(UsageError, match=r"no certificate-authority, and this machine has none"):
        ask(OURS.server())


@pytest.mark.parametrize(
    ("server", "config", "words"),
    [
        pytest.param(OURS.server, {"ca": OTHER.pem}, "unable to get local issuer", id="unknown"),
        pytest.param(
            lambda: OURS.server(expired=True), {"ca": OURS.pem}, "has expired", id="expired"
        ),
        pytest.param(
            lambda: OURS.server("kubernetes.default.svc"),
            {"ca": OURS.pem},
            "IP address mismatch",
            id="another name",
        ),
        pytest.param(
            OURS.server,
            {"ca": OURS.pem, "tls_server_name": "api.test"},
            "Hostname mismatch",
            id="another name than wanted",
        ),
    ],
)
def test_tls_says_why_a_certificate_is_not_accepted(
    server: Callable[[], ssl.SSLContext], config: dict[str, Any], words: str
) -> None:
    """At once and in words, not after half an hour of trying."""
    with pytest.raises(UsageError, match=rf"certificate of https://\S+ is not accepted: .*{words}"):
        ask(server(), **config)


def test_tls_uses_the_server_name_of_the_configuration() -> None:
    """The address may be another than the certificate's name."""
    name = "kubernetes.default.svc"
    assert [] == ask(OURS.server(name), ca=OURS.pem, tls_server_name=name)


def test_tls_verifies_nothing_when_the_kubeconfig_says_so() -> None:
    """insecure-skip-tls-verify is the only way to this."""
    assert [] == ask(OTHER.server(expired=True), insecure=True)


def test_tls_presents_a_client_certificate() -> None:
    """A server that wants one is satisfied."""
    server = OURS.server(clients=True)
    assert [] == ask(server, ca=OURS.pem, certificate=pair(*OURS.client()))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_says_that_a_client_certificate_is_missing(version: ssl.TLSVersion) -> None:
    """TLS 1.2 says so during the handshake, TLS 1.3 only afterwards."""
    context = OURS.server(clients=True)
    context.maximum_version = version

    def refuse(listener: socket.socket) -> None:
        # asyncio's own server hangs up without the alert that other servers send.
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            context.wrap_socket(connection, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=refuse, args=(listener,), daemon=True)
        server.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"

        async def act() -> None:
            config = ClusterConfig(origin="kube.yaml", server=url, ca=OURS.pem)
            async with KubeClient(config) as client:
                await client.list(POD, "ml", Pod)

        with pytest.raises(UsageError, match=r"https://\S+ refused the TLS connection: .*alert"):
            asyncio.run(act())
        server.join()


def test_tls_is_at_least_1_2() -> None:
    """Older versions are not spoken."""
    config = ClusterConfig(origin="test", server="https://api.test", ca=OURS.pem)
    context = tls.make_context(config)
    assert ssl.TLSVersion.TLSv1_2 == context.minimum_version
    assert (ssl.CERT_REQUIRED, True) == (context.verify_mode, context.check_hostname)


def test_tls_with_a_server_that_has_none() -> None:
    """https:// to a plain port is told, not tried for half an hour."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\nthis is plain HTTP\n")
        await writer.drain()
        writer.close()

    async def act() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, KubeClient(ClusterConfig(origin="t", server=url, ca=OURS.pem)) as client:
            await client.list(POD, "ml", Pod)

    with pytest.raises(UsageError, match="no TLS connection to https://"):
        run(act())


def test_tls_failure_is_ridden_out_once_the_server_was_known() -> None:
    """A certificate that turns bad under way may turn good again: a rotation, a bad replica."""

    async def act() -> None:
        async with FakeApi(OURS.server()) as api:
            config = ClusterConfig(origin="test", server=api.url, ca=OURS.pem)
            notices: list[str] = []
            async with KubeClient(config, notify=notices.append) as client:
                await client.list(POD, "ml", Pod)
                await restart(api, OTHER.server())
                asking = asyncio.create_task(client.list(POD, "ml", Pod))
                await asyncio.sleep(120.0)
                await restart(api, OURS.server())
                assert [] == (await asking)[0]
            assert "the certificate of https://" in notices[0]

    run(act())


async def restart(api: FakeApi, context: ssl.SSLContext) -> None:
    await api.server.stop()
    api.server._tls = context
    await api.server.start()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param({"ca": b"none"}, "kube.yaml: certificate-authority holds no", id="no PEM"),
        pytest.param({"ca": b"\xff"}, "certificate-authority holds no", id="not text"),
        pytest.param(
            {"ca": b"", "ca_file": "/no/such/file"},
            "/no/such/file holds no certificate",
            id="no file",
        ),
        pytest.param(
            {"certificate": pair(b"x", b"y")},
            "kube.yaml: client certificate and key: ",
            id="no pair",
        ),
        pytest.param(
            {"certificate": pair(OURS.client()[0], OTHER.client()[1])},
            "client certificate and key: KEY_VALUES_MISMATCH",
            id="no match",
        ),
    ],
)
def test_tls_says_which_certificate_is_of_no_use(config: dict[str, Any], words: str) -> None:
    """Before anything is sent."""
    base = {"origin": "kube.yaml", "server": "https://api.test", "ca": OURS.pem}
    whole = ClusterConfig(**base | config)
    with pytest.raises(UsageError, match=words):
        tls.make_context(whole, whole.certificate)


def test_tls_asks_nobody_for_a_password(tmp_path: Path) -> None:
    """An encrypted key would make OpenSSL ask on the terminal."""
    from cryptography.hazmat.primitives import serialization

    certificate, key = OURS.client()
    locked = serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    config = ClusterConfig(origin="t", server="https://api.test", ca=OURS.pem)
    with pytest.raises(UsageError, match="the key is encrypted"):
        tls.make_context(config, pair(certificate, locked))
