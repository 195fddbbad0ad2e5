"""Where the API server is and who we are there: a kubeconfig, or the pod's service account.

Order: `--kubeconfig`, the files of $KUBECONFIG, the service account of the pod we run in,
~/.kube/config. Everything that is wrong is one line, before anything is sent.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from dlf.errors import UsageError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts token, ca.crt and namespace in every pod."""


class Anonymous(msgspec.Struct, frozen=True):
    """Nothing in the Authorization header: a client certificate, or `kubectl proxy`."""


class Token(msgspec.Struct, frozen=True):
    """A bearer token that stays the same."""

    token: str


class TokenFile(msgspec.Struct, frozen=True):
    """A bearer token in a file that somebody else keeps fresh."""

    path: Path


class Basic(msgspec.Struct, frozen=True):
    """User name and password."""

    username: str
    password: str


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A command that prints an ExecCredential (client.authentication.k8s.io).

    Attributes:
        command: program and arguments.
        api_version: `client.authentication.k8s.io/v1` or `/v1beta1`.
        env: the whole environment of the command.
        cluster: what KUBERNETES_EXEC_INFO tells it about the cluster; empty for nothing.
        install_hint: shown when the command is not there.
    """

    command: list[str]
    api_version: str
    env: dict[str, str]
    cluster: dict[str, str | bool] = {}
    install_hint: str = ""


Credential = Anonymous | Token | TokenFile | Basic | Plugin


class ClusterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach one API server.

    Attributes:
        origin: where this was read, for messages.
        server: URL, perhaps with a path (a gateway in front of many clusters).
        namespace: of the context, or of the pod we run in.
        ca: PEM of the authorities that may sign the server's certificate; empty for the system's.
        ca_file: a PEM file of such authorities ($SSL_CERT_FILE), used when `ca` is empty.
        certificate: PEM of the client's certificate, or empty.
        key: PEM of its private key, or empty.
        credential: what goes into the Authorization header.
        proxy: URL of an HTTP proxy, or empty.
        tls_server_name: the name that the server's certificate must have, if not the URL's.
        insecure: the kubeconfig says that the server's certificate must not be verified.
    """

    origin: str
    server: str
    namespace: str = "default"
    ca: bytes = b""
    ca_file: str = ""
    certificate: bytes = b""
    key: bytes = b""
    credential: Credential = Anonymous()
    proxy: str = ""
    tls_server_name: str = ""
    insecure: bool = False


def load_config(
    env: Mapping[str, str], *, kubeconfig: str = "", context: str = ""
) -> ClusterConfig:
    """Find the cluster.

    Args:
        env: the process's environment.
        kubeconfig: path given by the user; then nothing else is looked at.
        context: name of a context; only kubeconfig files have one.

    Raises:
        UsageError: there is no configuration, or it is wrong.
    """
    if kubeconfig:
        return _from_files([Path(kubeconfig)], env, context)
    listed = [Path(name) for name in env.get("KUBECONFIG", "").split(":") if name]
    if files := [path for path in listed if _exists(path)]:
        return _from_files(files, env, context)
    host = env.get("KUBERNETES_SERVICE_HOST", "")
    if host and not context and _exists(SERVICE_ACCOUNT / "token"):
        return _in_cluster(host, env.get("KUBERNETES_SERVICE_PORT", "") or "443")
    home = Path(env["HOME"]) / ".kube" / "config" if env.get("HOME") else None
    if home and _exists(home):
        return _from_files([home], env, context)
    raise UsageError(
        f"no Kubernetes configuration: {_tried(env, host, home)}",
        "`--kubeconfig FILE` names one; `--runtime local` and `--dry-run` need no cluster",
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that we may not look into, such as another user's home
        return False


def _tried(env: Mapping[str, str], host: str, home: Path | None) -> str:
    tried = []
    if env.get("KUBECONFIG"):
        tried.append(f"KUBECONFIG={env['KUBECONFIG']} names no existing file")
    if host:
        tried.append(f"this pod has no service account token in {SERVICE_ACCOUNT}")
    else:
        tried.append("not in a pod (no KUBERNETES_SERVICE_HOST)")
    tried.append(f"no {home}" if home else "no HOME to look for .kube/config in")
    return ", ".join(tried)


def _from_files(files: list[Path], env: Mapping[str, str], context: str) -> ClusterConfig:
    # PyYAML costs start-up time, and a pod with a service account never needs it.
    from dlf.kube.kubeconfig import read_kubeconfig

    return read_kubeconfig(files, env, context)


def _in_cluster(host: str, port: str) -> ClusterConfig:
    name = f"[{host}]" if ":" in host else host
    try:
        ca = (SERVICE_ACCOUNT / "ca.crt").read_bytes()
        namespace = (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"service account of this pod: {error}") from error
    return ClusterConfig(
        origin="the service account of this pod",
        server=f"https://{name}:{port}",
        namespace=namespace,
        ca=ca,
        credential=TokenFile(SERVICE_ACCOUNT / "token"),
    )
