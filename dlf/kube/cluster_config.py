"""How to reach one API server, and who we are there: plain values."""

from pathlib import Path

import msgspec


class Anonymous(msgspec.Struct, frozen=True):
    """No Authorization header: a client certificate, or `kubectl proxy`."""


class StaticToken(msgspec.Struct, frozen=True):
    """A bearer token that does not change."""

    token: str


class TokenFile(msgspec.Struct, frozen=True):
    """A bearer token in a file that is rewritten while we run, as the kubelet does."""

    path: Path


class BasicAuth(msgspec.Struct, frozen=True):
    """User name and password."""

    username: str
    password: str


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A command that prints an ExecCredential (client.authentication.k8s.io).

    Attributes:
        command: program and arguments.
        api_version: `client.authentication.k8s.io/v1` or `/v1beta1`.
        env: the whole environment of the command.
        cluster: `spec.cluster` of KUBERNETES_EXEC_INFO; empty without `provideClusterInfo`.
        install_hint: shown when the command is not installed.
    """

    command: list[str]
    api_version: str
    env: dict[str, str]
    cluster: dict[str, str | bool] = {}
    install_hint: str = ""


Credential = Anonymous | StaticToken | TokenFile | BasicAuth | ExecPlugin


class ClientCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """A client certificate and its private key, both PEM.

    Attributes:
        origin: where they were read, for messages.
        certificate: with the chain that the server needs.
        key: without password.
        files: paths of both, if that is where they come from: they may be replaced while we run.
    """

    origin: str
    certificate: bytes
    key: bytes
    files: tuple[Path, Path] | None = None


class ClusterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach one API server.

    Attributes:
        origin: where this was read, for messages.
        server: URL, perhaps with a path (a gateway in front of many clusters).
        namespace: of the context, or of the pod we run in.
        ca: PEM of the authorities that may sign the server's certificate; empty for the system's.
        ca_file: a PEM file of such authorities ($SSL_CERT_FILE), used when `ca` is empty.
        certificate: of the client, if it has one.
        credential: what goes into the Authorization header.
        proxy: URL of an HTTP or HTTPS proxy, or empty.
        proxy_origin: where that was read, for messages.
        tls_server_name: the name that the server's certificate must have, if not the URL's.
        insecure: the kubeconfig says that the server's certificate must not be verified.
    """

    origin: str
    server: str
    namespace: str = "default"
    ca: bytes = b""
    ca_file: str = ""
    certificate: ClientCertificate | None = None
    credential: Credential = Anonymous()
    proxy: str = ""
    proxy_origin: str = ""
    tls_server_name: str = ""
    insecure: bool = False
