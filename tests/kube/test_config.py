"""Where the cluster is: the order of the sources, the pod's service account, kubeconfig files."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from fake_api.thread import kubeconfig as fake_kubeconfig
from hypothesis import given
from hypothesis import strategies as st

from dlf.errors import UsageError
from dlf.kube import config as config_module
from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    ClusterConfig,
    ExecPlugin,
    StaticToken,
    TokenFile,
)
from dlf.kube.config import load_config

POD_ENV = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a pod's service account is mounted in."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("pod-token\n")
    (folder / "ca.crt").write_bytes(b"CA")
    (folder / "namespace").write_text("ml\n")
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", folder)
    return folder


@pytest.fixture(autouse=True)
def no_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may be a pod; the tests are not in it."""
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", tmp_path / "none")


def write(path: Path, server: str = "https://a.test:6443", **parts: Any) -> Path:
    """A kubeconfig with one context, `ctx`; `cluster`, `user` and `context` add to its parts."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "ctx",
        "contexts": [
            {"name": "ctx", "context": {"cluster": "c", "user": "u"} | parts.get("context", {})}
        ],
        "clusters": [{"name": "c", "cluster": {"server": server} | parts.get("cluster", {})}],
        "users": [{"name": "u", "user": parts.get("user", {})}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def load(path: Path, context: str = "", **env: str) -> ClusterConfig:
    return load_config(env, kubeconfig=str(path), context=context)


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_config_of_a_pod(account: Path) -> None:
    """Address from the environment, the rest from the mounted files; the token is not read yet."""
    expected = ClusterConfig(
        origin="the service account of this pod",
        server="https://10.0.0.1:6443",
        namespace="ml",
        ca=b"CA",
        credential=TokenFile(account / "token"),
    )
    assert expected == load_config(POD_ENV)


@pytest.mark.parametrize(
    ("host", "port", "server"),
    [
        pytest.param("fd00::1", "443", "https://[fd00::1]:443", id="IPv6"),
        pytest.param("kubernetes.default.svc", "", "https://kubernetes.default.svc:443", id="name"),
    ],
)
@pytest.mark.usefixtures("account")
def test_config_of_a_pod_at_any_address(host: str, port: str, server: str) -> None:
    """An IPv6 address needs brackets."""
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    assert server == load_config(env).server


def test_config_of_a_pod_needs_its_files(account: Path) -> None:
    """A half-mounted service account is told, with the file."""
    (account / "ca.crt").unlink()
    with pytest.raises(UsageError, match=r"service account of this pod: .*ca\.crt"):
        load_config(POD_ENV)


def test_config_comes_from_the_first_source(account: Path, tmp_path: Path) -> None:
    """--kubeconfig, then $KUBECONFIG, then the pod's service account, then ~/.kube/config."""
    flag = write(tmp_path / "flag", "https://flag.test")
    listed = write(tmp_path / "listed", "https://listed.test")
    home = write(tmp_path / ".kube" / "config", "https://home.test")
    env = {"HOME": str(tmp_path), "KUBECONFIG": str(listed), **POD_ENV}

    def server(**options: str) -> str:
        return load_config(env, **options).server

    assert "https://flag.test" == server(kubeconfig=str(flag))
    assert "https://listed.test" == server()
    listed.unlink()
    assert "https://10.0.0.1:6443" == server()
    assert "https://home.test" == server(context="ctx")
    (account / "token").unlink()
    assert "https://home.test" == server()
    home.unlink()
    with pytest.raises(UsageError):
        server()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        pytest.param({}, "not in a pod (no KUBERNETES_SERVICE_HOST), no HOME", id="nothing"),
        pytest.param({"HOME": "/nowhere"}, "no /nowhere/.kube/config", id="no file at home"),
        pytest.param(
            {"KUBECONFIG": "/no/a:/no/b"}, "KUBECONFIG=/no/a:/no/b names no existing", id="listed"
        ),
        pytest.param(POD_ENV, "this pod has no service account token in", id="no token mounted"),
    ],
)
def test_config_says_where_it_looked(env: dict[str, str], words: str) -> None:
    """And that there is something to do without a cluster."""
    with pytest.raises(UsageError) as error:
        load_config(env)
    assert words in error.value.message
    assert "--runtime local and --dry-run need no cluster" in error.value.hint
    assert 2 == error.value.exit_code


def test_config_looks_past_what_it_may_not_look_into() -> None:
    """Another user's home is no reason to fail, but for its own sake."""
    with pytest.raises(UsageError, match="no Kubernetes configuration: "):
        load_config({"HOME": "/" + "x" * 5000, "KUBECONFIG": "y" * 5000})


def test_config_of_a_missing_flag_file() -> None:
    """The file of --kubeconfig must be there."""
    with pytest.raises(UsageError, match=r"^/no/such cannot be read: No such file or directory$"):
        load_config({}, kubeconfig="/no/such")


def test_kubeconfig_is_read_whole(tmp_path: Path) -> None:
    """Every part that dlf knows, inline."""
    path = write(
        tmp_path / "config",
        "https://a.test/k8s/clusters/c-1/",
        context={"namespace": "ml"},
        cluster={
            "certificate-authority-data": b64(b"CA"),
            "proxy-url": "http://proxy.test:3128",
            "unknown": {"is": "ignored"},
        },
        user={
            "client-certificate-data": b64(b"CERT"),
            "client-key-data": b64(b"KEY"),
            "token": " secret\n",
        },
    )
    expected = ClusterConfig(
        origin=str(path),
        server="https://a.test/k8s/clusters/c-1",
        namespace="ml",
        ca=b"CA",
        ca_file="/etc/ca.pem",
        certificate=ClientCertificate(origin=str(path), certificate=b"CERT", key=b"KEY"),
        credential=StaticToken("secret"),
        proxy="http://proxy.test:3128",
        proxy_origin=f"proxy-url of {path}",
    )
    assert expected == load(path, SSL_CERT_FILE="/etc/ca.pem")


def test_kubeconfig_files_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the folder of the file, whatever the current one is."""
    monkeypatch.chdir("/")
    path = write(
        tmp_path / "sub" / "config",
        cluster={"certificate-authority": "../ca.pem", "tls-server-name": "name.test"},
        user={"client-certificate": "c.pem", "client-key": "k.pem", "tokenFile": "t"},
    )
    (tmp_path / "ca.pem").write_bytes(b"CA")
    for name in ("c.pem", "k.pem", "t"):
        (path.parent / name).write_bytes(name.encode())
    found = load(path)
    certificate = ClientCertificate(
        origin=str(path),
        certificate=b"c.pem",
        key=b"k.pem",
        files=(path.parent / "c.pem", path.parent / "k.pem"),
    )
    assert (b"CA", certificate) == (found.ca, found.certificate)
    assert TokenFile(path.parent / "t") == found.credential
    assert "name.test" == found.tls_server_name


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({}, Anonymous(), id="nothing"),
        pytest.param({"token": None}, Anonymous(), id="null is nothing"),
        pytest.param({"token": "t", "username": "u"}, StaticToken("t"), id="token before password"),
        pytest.param({"username": "u", "password": "p"}, BasicAuth("u", "p"), id="password"),
    ],
)
def test_kubeconfig_credentials(tmp_path: Path, user: dict[str, Any], expected: object) -> None:
    """The one that kubectl would take."""
    assert expected == load(write(tmp_path / "config", user=user)).credential


def test_kubeconfig_token_file_wins(tmp_path: Path) -> None:
    """Over an inline token, which is its stale copy."""
    (tmp_path / "t").write_text("fresh")
    path = write(tmp_path / "config", user={"token": "stale", "tokenFile": "t"})
    assert TokenFile(tmp_path / "t") == load(path).credential


def test_kubeconfig_plugin(tmp_path: Path) -> None:
    """Command, arguments, the whole environment, and the cluster if the plugin wants to know it."""
    path = write(
        tmp_path / "config",
        cluster={"certificate-authority-data": b64(b"CA"), "tls-server-name": "name.test"},
        user={
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "./bin/login",
                "args": ["--quiet"],
                "env": [{"name": "REGION", "value": "here"}],
                "installHint": "get it from us",
                "provideClusterInfo": True,
                "interactiveMode": "IfAvailable",
            }
        },
    )
    expected = ExecPlugin(
        command=[f"{tmp_path}/bin/login", "--quiet"],
        api_version="client.authentication.k8s.io/v1",
        env={"PATH": "/bin", "REGION": "here"},
        cluster={
            "server": "https://a.test:6443",
            "certificate-authority-data": b64(b"CA"),
            "tls-server-name": "name.test",
        },
        install_hint="get it from us",
    )
    assert expected == load(path, PATH="/bin").credential


def test_kubeconfig_files_are_merged(tmp_path: Path) -> None:
    """The first file that has a name, or a current context, wins; missing files do not count."""
    first = tmp_path / "first"
    first.write_text(
        "clusters: [{name: c, cluster: {server: https://first.test}}]\n"
        "users: [{name: u, user: {token: first}}]\n"
    )
    second = write(tmp_path / "second", "https://second.test", user={"token": "second"})
    env = {"KUBECONFIG": f"{first}::{tmp_path}/missing:{second}"}
    found = load_config(env)
    assert ("https://first.test", StaticToken("first")) == (found.server, found.credential)
    assert f"{first}:{second}" == found.origin


def test_kubeconfig_context_is_chosen(tmp_path: Path) -> None:
    """--context names another than the current one."""
    path = tmp_path / "config"
    path.write_text(
        "current-context: one\n"
        "contexts:\n"
        "- {name: one, context: {cluster: a}}\n"
        "- {name: two, context: {cluster: b, namespace: ml}}\n"
        "clusters:\n"
        "- {name: a, cluster: {server: https://a.test}}\n"
        "- {name: b, cluster: {server: https://b.test}}\n"
    )
    assert ("https://a.test", "default") == (load(path).server, load(path).namespace)
    assert ("https://b.test", "ml") == (load(path, "two").server, load(path, "two").namespace)
    with pytest.raises(UsageError, match="no context 'three'") as error:
        load(path, "three")
    assert "give --context, one of one, two" == error.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "no current-context", id="empty"),
        pytest.param("a: [", "not valid YAML: ", id="no YAML"),
        pytest.param("when: 2026-99-99", "not valid YAML: ", id="no date"),
        pytest.param("\x00", "not valid YAML: ", id="not text"),
        pytest.param("!!bool maybe", "not valid YAML: ", id="no truth"),
        pytest.param('!!int ""', "not valid YAML: ", id="no number"),
        pytest.param("!!timestamp soon", "not valid YAML: ", id="no time"),
        pytest.param("[" * 10_000, "is nested too deeply", id="deep"),
        pytest.param("- a", r"not a kubeconfig: Expected `object`, got `array`", id="a list"),
        pytest.param("clusters: {}", r"not a kubeconfig: .*`\$.clusters`", id="clusters"),
        pytest.param("clusters: [{cluster: {}}]", "not a kubeconfig: .*`name`", id="no name"),
        pytest.param(
            "users: [{name: u, user: {token: 1}}]", r"users\[0\].user.token", id="a number as token"
        ),
        pytest.param("current-context: x", "no context 'x'", id="no such context"),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
            "context 'x' refers to an unknown cluster 'c'",
            id="no such cluster",
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: https://a}}]",
            "context 'x' refers to an unknown user 'u'",
            id="no such user",
        ),
    ],
)
def test_kubeconfig_that_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    """One line, with the file."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as error:
        load(path)
    assert str(path) in error.value.message
    assert "\n" not in error.value.message


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x"}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        pytest.param({"server": ""}, "server is ``, not https://HOST:PORT", id="no server"),
        pytest.param({"server": "a:6443"}, "server is `a:6443`, not", id="no scheme"),
        pytest.param({"server": "https://a:x"}, "server is `https://a:x`, not", id="no port"),
        pytest.param({"server": "https://["}, r"server is `https://\[`, not", id="no URL"),
        pytest.param(
            {"cluster": {"certificate-authority-data": "?"}},
            "certificate-authority-data is not base64",
            id="CA not base64",
        ),
        pytest.param(
            {"cluster": {"certificate-authority": "none.pem"}},
            r"certificate-authority .*none\.pem: No such file",
            id="no CA file",
        ),
        pytest.param(
            {
                "cluster": {
                    "certificate-authority-data": "QQ==",
                    "insecure-skip-tls-verify": True,
                }
            },
            "cannot be used together",
            id="CA and insecure",
        ),
        pytest.param(
            {"cluster": {"proxy-url": "socks5://p:1"}}, "proxy-url is `socks5://p:1`", id="SOCKS"
        ),
        pytest.param(
            {"user": {"client-certificate-data": "QQ=="}},
            "must be given together",
            id="half a pair",
        ),
        pytest.param(
            {"user": {"client-key": "none.pem"}}, "client-key .*none.pem: No such", id="no key file"
        ),
        pytest.param(
            {"user": {"tokenFile": "none"}}, "tokenFile .*none: No such file", id="no token file"
        ),
        pytest.param({"user": {"as": "root"}}, "impersonation", id="impersonation"),
        pytest.param(
            {"user": {"auth-provider": {"name": "oidc"}}},
            "auth-provider `oidc` is not supported",
            id="auth provider",
        ),
        pytest.param({"user": {"exec": EXEC | {"command": ""}}}, "exec has no command", id="exec"),
        pytest.param(
            {"user": {"exec": EXEC | {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}},
            "apiVersion `client.authentication.k8s.io/v1alpha1` is not supported",
            id="exec of old",
        ),
        pytest.param(
            {"user": {"exec": EXEC | {"interactiveMode": "Always"}}},
            "interactiveMode: Always",
            id="exec that asks",
        ),
    ],
)
def test_kubeconfig_part_that_is_wrong(tmp_path: Path, parts: dict[str, Any], words: str) -> None:
    """One line, with the file and the value."""
    path = write(tmp_path / "config", **parts)
    with pytest.raises(UsageError, match=words) as error:
        load(path)
    assert str(path) in error.value.message


def test_kubeconfig_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder is no file."""
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)


@given(text=st.text())
def test_kubeconfig_of_any_text_raises_nothing_else(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands in the file, it is a usage error."""
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(UsageError):
        load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("name", "cluster", "context", "user", "server", "token", "exec", "command"),
                    *("tokenFile", "client-key", "certificate-authority", "proxy-url"),
                    *("certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    parts=st.fixed_dictionaries(
        {},
        optional={
            "current-context": JSON,
            "contexts": st.lists(JSON, max_size=2) | JSON,
            "clusters": st.lists(JSON, max_size=2) | JSON,
            "users": st.lists(JSON, max_size=2) | JSON,
        },
    )
)
def test_kubeconfig_of_any_shape_raises_nothing_else(
    parts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wrong types anywhere are a usage error."""
    path = tmp_path_factory.getbasetemp() / "shape"
    path.write_text(json.dumps(parts))
    try:
        load(path)
    except UsageError as error:
        assert str(path) in error.message  # noqa: PT017 either outcome is right


TEXT = st.text(max_size=12) | st.sampled_from(["https://a.test", "config", ".", "\0", "QQ=="])


@given(
    cluster=st.dictionaries(
        st.sampled_from(["server", "certificate-authority", "proxy-url", "tls-server-name"]), TEXT
    ),
    user=st.dictionaries(
        st.sampled_from(["tokenFile", "token", "client-key", "client-certificate", "username"]),
        TEXT,
    ),
)
def test_kubeconfig_of_any_values_raises_nothing_else(
    cluster: dict[str, str], user: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wrong values too; and what is taken makes a client, or a usage error."""
    path = write(tmp_path_factory.getbasetemp() / "values" / "config", cluster=cluster, user=user)
    try:
        KubeClient(load(path, SSL_CERT_FILE="/no/such"))
    except UsageError as error:
        assert error.message  # noqa: PT017 either outcome is right


def test_kubeconfig_of_the_fake_server_is_a_kubeconfig(tmp_path: Path) -> None:
    """What other tests are given works."""
    path = tmp_path / "config"
    path.write_text(fake_kubeconfig("https://127.0.0.1:1", b"CA", "secret", "ml"))
    found = load(path)
    assert (StaticToken("secret"), "ml", b"CA") == (found.credential, found.namespace, found.ca)


def test_yaml_is_not_imported_in_a_pod(tmp_path: Path) -> None:
    """It costs start-up time, and only a kubeconfig needs it."""
    import subprocess
    import sys

    modules = "client, config, reflector"
    code = f"import sys; from dlf.kube import {modules}; assert 'yaml' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
