"""Credentials that change while a job runs: token files and plugins."""

import asyncio
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi
from fake_api.certificates import Authority
from fake_api.http_server import Request
from kube.scenario import cluster, scenario
from typing_extensions import override
from virtual_loop import run
from waiting import until

from dlf.errors import Rejected, UsageError
from dlf.kube import exec_plugin
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import (
    BasicAuth,
    ClientCertificate,
    ClusterConfig,
    ExecPlugin,
    StaticToken,
    TokenFile,
)
from dlf.kube.exec_plugin import ExecCredentialStatus
from dlf.kube.reflector import Change, Snapshot, list_and_watch
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

V1 = "client.authentication.k8s.io/v1"


def tokens(api: FakeApi) -> list[str]:
    """The Authorization headers so far."""
    return [request.headers.get("authorization", "") for request in api.requests]


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("one\n")
    return path


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        pytest.param(StaticToken("secret"), "Bearer secret", id="token"),
        pytest.param(BasicAuth("me", "pä:ss"), "Basic bWU6cMOkOnNz", id="password"),
    ],
)
@scenario
async def test_credential_is_sent(api: FakeApi, credential: Any, header: str) -> None:
    """In the Authorization header of every request."""
    async with KubeClient(cluster(api, credential=credential)) as client:
        await client.list(POD, "ml", Pod)
    assert [header] == tokens(api)


@scenario
async def test_token_file_is_read_again(api: FakeApi, token: Path) -> None:
    """A token that the kubelet renewed is used from the next request on."""
    api.tokens = {"one", "two"}
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        await client.list(POD, "ml", Pod)
        token.write_text("two")
        await client.list(POD, "ml", Pod)
    assert ["Bearer one", "Bearer two"] == tokens(api)


@scenario
async def test_token_file_that_changes_under_way_is_tried_once_more(
    api: FakeApi, token: Path
) -> None:
    """401 with a token that is replaced at that moment is no refusal."""
    api.tokens = {"two"}

    class Rotating(list[Request]):
        @override
        def append(self, request: Request) -> None:
            super().append(request)
            token.write_text("two")

    api.requests = Rotating()
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        assert ([], "1000") == await client.list(POD, "ml", Pod)


@scenario
async def test_token_that_nobody_renews_is_refused(api: FakeApi, token: Path) -> None:
    """The second 401 is the answer."""
    api.tokens = {"two"}
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        with pytest.raises(Rejected, match="Unauthorized") as error:
            await client.list(POD, "ml", Pod)
    assert 401 == error.value.status
    assert 2 == len(api.requests)


@scenario
async def test_reflector_survives_a_day_of_token_rotation(api: FakeApi, token: Path) -> None:
    """Each token is good for an hour, and each hour there is a new one."""
    api.bookmark_seconds = 1e6
    api.tokens = {"hour-0"}
    token.write_text("hour-0")
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        seen: list[Pod] = []

        async def work() -> None:
            async for step in list_and_watch(client, POD, "ml", Pod):
                match step:
                    case Change(_, thing):
                        seen.append(thing)
                    case Snapshot():
                        pass

        task = asyncio.create_task(work())
        for hour in range(1, 25):
            await asyncio.sleep(3600.0)
            token.write_text(f"hour-{hour}")
            api.tokens = {f"hour-{hour}"}
        api.store.create(api.collection("pods", "ml"), {"metadata": {"name": "last"}})
        await asyncio.sleep(1.0)
        assert not task.done()
        task.cancel()
    assert ["last"] == [pod.metadata.name for pod in seen]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "token file .*token: .*No such file", id="missing"),
        pytest.param(b"\xff", "token file .*token: ", id="not text"),
        pytest.param(b"\n", "token file .*token is empty", id="empty"),
        pytest.param(b"two\nlines", "characters that no header can carry", id="two lines"),
        pytest.param("tökén".encode(), "characters that no header can carry", id="not ASCII"),
    ],
)
@scenario
async def test_token_file_that_is_wrong(
    api: FakeApi, token: Path, content: bytes | None, words: str
) -> None:
    """Told before anything is sent."""
    token.unlink()
    if content is not None:
        token.write_bytes(content)
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        with pytest.raises(UsageError, match=words):
            await client.list(POD, "ml", Pod)
    assert [] == api.requests


@scenario
async def test_token_file_that_vanishes_later_may_come_back(api: FakeApi, token: Path) -> None:
    """What once worked is waited for like the server itself."""
    async with KubeClient(cluster(api, credential=TokenFile(token))) as client:
        await client.list(POD, "ml", Pod)
        token.unlink()
        asyncio.get_running_loop().call_later(60.0, token.write_text, "two")
        await client.list(POD, "ml", Pod)
    assert ["Bearer one", "Bearer two"] == tokens(api)


def plugin(folder: Path, code: str, **more: Any) -> ExecPlugin:
    """A credential plugin that runs this Python code."""
    script = folder / "plugin.py"
    script.write_text(code)
    options = {"api_version": V1, "env": {"COUNT": str(folder / "count")}} | more
    return ExecPlugin(command=[sys.executable, str(script)], **options)


COUNTING = """
import datetime, json, os, pathlib
count = pathlib.Path(os.environ["COUNT"])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
status = {"token": f"t{number}"} | EXTRA
print(json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status}))
"""


def counting(version: str = V1, **extra: Any) -> str:
    """Code of a plugin that gives t1, t2, ..."""
    return f"VERSION = {version!r}\nEXTRA = {extra!r}\n{COUNTING}"


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
@scenario
async def test_plugin_is_asked_once(api: FakeApi, tmp_path: Path, version: str) -> None:
    """For all requests, also those that start together."""
    credential = plugin(tmp_path, counting(version), api_version=version)
    async with KubeClient(cluster(api, credential=credential)) as client:
        await asyncio.gather(*(client.list(POD, "ml", Pod) for _ in range(5)))
    assert ["Bearer t1"] * 5 == tokens(api)


@scenario
async def test_plugin_is_asked_again_after_401(api: FakeApi, tmp_path: Path) -> None:
    """Once for all requests that were refused with the same token."""
    api.tokens = {"t1"}
    async with KubeClient(cluster(api, credential=plugin(tmp_path, counting()))) as client:
        await client.list(POD, "ml", Pod)
        api.tokens = {"t2"}
        await asyncio.gather(*(client.list(POD, "ml", Pod) for _ in range(5)))
    assert "2" == (tmp_path / "count").read_text()


@scenario
async def test_plugin_is_asked_again_when_its_token_expires(api: FakeApi, tmp_path: Path) -> None:
    """Before the server has to refuse it."""
    credential = plugin(tmp_path, counting(expirationTimestamp="2020-01-01T00:00:00Z"))
    async with KubeClient(cluster(api, credential=credential)) as client:
        await client.list(POD, "ml", Pod)
        await client.list(POD, "ml", Pod)
    assert ["Bearer t1", "Bearer t2"] == tokens(api)


@pytest.mark.parametrize(
    ("hours", "expired"),
    [
        pytest.param(None, False, id="never"),
        pytest.param(-1, True, id="before"),
        pytest.param(1, False, id="later"),
    ],
)
def test_plugin_status_expires(hours: int | None, expired: bool) -> None:
    """By its own time stamp; without one only a 401 ends it."""
    now = datetime.datetime.now(datetime.UTC)
    at = None if hours is None else now + datetime.timedelta(hours=hours)
    assert expired is ExecCredentialStatus(expiration_timestamp=at).expired()
    assert (
        expired
        is ExecCredentialStatus(expiration_timestamp=at and at.replace(tzinfo=None)).expired()
    )


@scenario
async def test_plugin_is_told_what_it_needs(api: FakeApi, tmp_path: Path) -> None:
    """Its environment, that nobody is there to answer, and the cluster if it wants to know."""
    code = "import os, pathlib\npathlib.Path(os.environ['TOLD']).write_text(" + (
        "os.environ['KUBERNETES_EXEC_INFO'])\n"
    )
    told = tmp_path / "told"
    credential = plugin(
        tmp_path,
        code + counting(),
        env={"COUNT": str(tmp_path / "count"), "TOLD": str(told)},
        cluster={"server": "https://a.test"},
    )
    async with KubeClient(cluster(api, credential=credential)) as client:
        await client.list(POD, "ml", Pod)
    expected = {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://a.test"}},
    }
    assert expected == json.loads(told.read_text())


def answer(**status: str) -> str:
    document = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(document)!r})"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param("import sys; sys.exit('log in first')", "exit code 1: log in first", id="1"),
        pytest.param("raise SystemExit(7)", "exit code 7: no message", id="says nothing"),
        pytest.param("print('hello')", "printed no valid ExecCredential", id="no JSON"),
        pytest.param("print('{}')", "prints no apiVersion no kind, not client", id="empty"),
        pytest.param(
            answer(), "returned neither a token nor a client certificate", id="nothing in it"
        ),
        pytest.param(
            answer(clientCertificateData="c"),
            "only one of client certificate and key",
            id="half a pair",
        ),
        pytest.param(
            answer(clientCertificateData="c", clientKeyData="k"),
            "client certificate and key",
            id="no certificate",
        ),
    ],
)
@scenario
async def test_plugin_that_fails(api: FakeApi, tmp_path: Path, code: str, words: str) -> None:
    """Told in one line, with its own words."""
    async with KubeClient(cluster(api, credential=plugin(tmp_path, code))) as client:
        with pytest.raises(UsageError, match=words):
            await client.list(POD, "ml", Pod)


@pytest.mark.parametrize(
    ("command", "words", "hint"),
    [
        pytest.param("no-such-plugin", "'no-such-plugin' is not installed", "get it", id="missing"),
        pytest.param("/", "'/' cannot be started: ", "", id="a folder"),
    ],
)
@scenario
async def test_plugin_that_does_not_start(
    api: FakeApi, command: str, words: str, hint: str
) -> None:
    """The kubeconfig's own hint says how to install it."""
    credential = ExecPlugin(command=[command], api_version=V1, env={}, install_hint="get it")
    async with KubeClient(cluster(api, credential=credential)) as client:
        with pytest.raises(UsageError, match=words) as error:
            await client.list(POD, "ml", Pod)
    assert hint == error.value.hint


def runs(pid: str) -> bool:
    """Whether a process is there, and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after its time, with its children, which hold its end of the pipe."""
    child = tmp_path / "child"
    code = (
        "import pathlib, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"file = pathlib.Path({str(child)!r})\n"
        "made = file.with_suffix('.new')\n"
        "made.write_text(str(child.pid))\n"
        "made.replace(file)\n"
        "time.sleep(600)\n"
    )
    config = ClusterConfig(
        origin="t",
        server="http://127.0.0.1:1",
        credential=plugin(tmp_path, code),
    )

    async def act() -> None:
        async with KubeClient(config) as client:
            with pytest.raises(UsageError, match=f"did not end within {seconds} s"):
                await client.list(POD, "ml", Pod)

    for seconds in (1, 10, 60):  # a busy machine may need more until it has started its child
        monkeypatch.setattr(exec_plugin, "TIMEOUT_SECONDS", float(seconds))
        asyncio.run(act())
        if child.exists():
            break
    until(lambda: not runs(child.read_text()))


def test_plugin_gives_a_client_certificate(tmp_path: Path) -> None:
    """It is presented on the next connection."""
    authority = Authority()
    certificate, key = authority.client()
    code = answer(clientCertificateData=certificate.decode(), clientKeyData=key.decode())

    async def act() -> None:
        async with FakeApi(authority.server(clients=True)) as api:
            config = cluster(api, ca=authority.pem, credential=plugin(tmp_path, code))
            async with KubeClient(config) as client:
                assert ([], "1000") == await client.list(POD, "ml", Pod)
            assert [""] == tokens(api)

    run(act())


async def list_at_once(client: KubeClient, count: int) -> None:
    """Lists that run at the same time, and leave so many connections idle."""
    await asyncio.gather(*(client.list(POD, "ml", Pod) for _ in range(count)))


def certificates(authority: Authority, *names: str) -> list[tuple[bytes, bytes]]:
    return [authority.client(f"{name}@example.org") for name in names]


def require(api: FakeApi, name: str) -> None:
    """Answer 401 to connections that were made with another client's certificate."""
    api.client_name = f"{name}@example.org"


def test_plugin_that_renews_its_certificate_retires_connections(tmp_path: Path) -> None:
    """After 401 none of several idle connections, with the old certificate, is used again."""
    authority = Authority()
    old, new = certificates(authority, "old", "new")
    for name, (certificate, key) in {"old": old, "new": new}.items():
        status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
        (tmp_path / name).write_text(json.dumps(status))
    code = (
        "import json, os, pathlib\n"
        "count = pathlib.Path(os.environ['COUNT'])\n"
        "name = 'new' if count.exists() else 'old'\n"
        "count.write_text('')\n"
        f"status = json.loads(pathlib.Path({str(tmp_path)!r}, name).read_text())\n"
        f"print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': status}}))\n"
    )

    async def act() -> None:
        async with FakeApi(authority.server(clients=True)) as api:
            require(api, "old")
            config = cluster(api, ca=authority.pem, credential=plugin(tmp_path, code))
            async with KubeClient(config) as client:
                await list_at_once(client, 3)
                require(api, "new")
                await list_at_once(client, 1)

    run(act())


def test_certificate_files_that_are_replaced_are_read_again(tmp_path: Path) -> None:
    """As a kubelet or cert-manager replaces them; idle connections are retired."""
    authority = Authority()
    old, new = certificates(authority, "old", "new")
    files = (tmp_path / "tls.crt", tmp_path / "tls.key")

    def write(pair: tuple[bytes, bytes]) -> None:
        for path, content in zip(files, pair, strict=True):
            renewed = path.with_suffix(".new")
            renewed.write_bytes(content)
            renewed.replace(path)

    async def act() -> None:
        async with FakeApi(authority.server(clients=True)) as api:
            write(old)
            require(api, "old")
            certificate = ClientCertificate(
                origin="kube.yaml", certificate=old[0], key=old[1], files=files
            )
            config = cluster(api, ca=authority.pem, certificate=certificate)
            async with KubeClient(config) as client:
                await list_at_once(client, 3)
                write(new)
                require(api, "new")
                await list_at_once(client, 1)
                # Only one of two is replaced: waited for like a server that is away.
                (tmp_path / "tls.crt").write_bytes(old[0])
                loop = asyncio.get_running_loop()
                loop.call_later(60.0, write, old)
                loop.call_later(60.0, require, api, "old")
                await list_at_once(client, 1)

    run(act())
