"""kubeconfig files, read as kubectl reads them: merged, one context chosen, paths made absolute.

Merging: the first file that defines a name, or sets `current-context`, wins.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from dlf.errors import UsageError
from dlf.kube.cluster_config import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    ClusterConfig,
    Credential,
    ExecPlugin,
    StaticToken,
    TokenFile,
)
from dlf.kube.kubeconfig_file import Cluster, Context, ExecConfig, User, parse

EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


def read_kubeconfig(files: list[Path], env: Mapping[str, str], context: str) -> ClusterConfig:
    """The chosen context of these files, which exist.

    Args:
        files: in the order of $KUBECONFIG.
        env: the process's environment, for credential plugins and $SSL_CERT_FILE.
        context: name of the context; "" takes `current-context`.

    Raises:
        UsageError: a file is unreadable or says something that cannot be followed.
    """
    parsed = [(path.absolute(), parse(path)) for path in files]
    origin = ":".join(str(path) for path in files)
    contexts = {n.name: n.context for _, f in reversed(parsed) for n in f.contexts or ()}
    clusters = {n.name: (p, n.cluster) for p, f in reversed(parsed) for n in f.clusters or ()}
    users = {n.name: (p, n.user) for p, f in reversed(parsed) for n in f.users or ()}

    name = context or next((f.current_context for _, f in parsed if f.current_context), "")
    if not name:
        raise UsageError(f"{origin} has no current-context", _choices("--context", contexts))
    chosen = contexts.get(name)
    if chosen is None:
        raise UsageError(f"{origin} has no context {name!r}", _choices("--context", contexts))
    at, cluster = clusters.get(chosen.cluster, (None, None))
    if at is None or cluster is None:
        raise UsageError(
            f"{origin}: context {name!r} refers to an unknown cluster {chosen.cluster!r}"
        )
    user_at, user = users.get(chosen.user, (at, None))
    if user is None and chosen.user:
        raise UsageError(f"{origin}: context {name!r} refers to an unknown user {chosen.user!r}")
    return _config(origin, chosen, (at, cluster), (user_at, user or User()), env)


def _choices(flag: str, known: Mapping[str, object]) -> str:
    names = ", ".join(sorted(known))
    return f"give {flag}, one of {names}" if known else "it has no contexts"


def _config(
    origin: str,
    context: Context,
    located_cluster: tuple[Path, Cluster],
    located_user: tuple[Path, User],
    env: Mapping[str, str],
) -> ClusterConfig:
    at, cluster = located_cluster
    user_at, user = located_user
    server = _url(at, "server", cluster.server, ("https", "http"))
    ca = _pem(
        at,
        "certificate-authority",
        cluster.certificate_authority_data,
        cluster.certificate_authority,
    )
    if cluster.insecure_skip_tls_verify and ca:
        raise UsageError(
            f"{at}: certificate-authority and insecure-skip-tls-verify cannot be used together"
        )
    return ClusterConfig(
        origin=origin,
        server=server,
        namespace=context.namespace or "default",
        ca=ca,
        ca_file=env.get("SSL_CERT_FILE", ""),
        certificate=_client_certificate(origin, user_at, user),
        credential=_credential(user_at, user, cluster, server, ca, env),
        proxy=cluster.proxy_url and _url(at, "proxy-url", cluster.proxy_url, ("http", "https")),
        proxy_origin=f"proxy-url of {at}" if cluster.proxy_url else "",
        tls_server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
    )


def _client_certificate(origin: str, at: Path, user: User) -> ClientCertificate | None:
    certificate = _pem(
        at, "client-certificate", user.client_certificate_data, user.client_certificate
    )
    key = _pem(at, "client-key", user.client_key_data, user.client_key)
    if bool(certificate) != bool(key):
        raise UsageError(f"{at}: client-certificate and client-key must be given together")
    if not certificate:
        return None
    files = (at.parent / user.client_certificate, at.parent / user.client_key)
    inline = user.client_certificate_data or user.client_key_data
    return ClientCertificate(
        origin=origin, certificate=certificate, key=key, files=None if inline else files
    )


def _url(at: Path, key: str, text: str, schemes: tuple[str, ...]) -> str:
    try:
        parts = urlsplit(text)
        valid = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        wanted = " or ".join(f"{scheme}://HOST:PORT" for scheme in schemes)
        raise UsageError(f"{at}: {key} is `{text}`, not {wanted}")
    return text.rstrip("/")


def _pem(at: Path, key: str, inline: str, name: str) -> bytes:
    """Inline wins over the file, as in kubectl; paths are relative to the kubeconfig's folder."""
    if inline:
        try:
            return base64.b64decode("".join(inline.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise UsageError(f"{at}: {key}-data is not base64: {error}") from error
    return _read(at, key, name) if name else b""


def _read(at: Path, key: str, name: str) -> bytes:
    path = at.parent / name
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{at}: {key} {path}: {reason}") from error


def _credential(
    at: Path, user: User, cluster: Cluster, server: str, ca: bytes, env: Mapping[str, str]
) -> Credential:
    """The credential that kubectl would use: token file, token, password, plugin."""
    if user.as_:
        raise UsageError(f"{at}: impersonation (`as: {user.as_}`) is not supported")
    if user.token_file:
        _read(at, "tokenFile", user.token_file)
        return TokenFile(at.parent / user.token_file)
    if user.token:
        return StaticToken(user.token.strip())
    if user.username:
        return BasicAuth(user.username, user.password)
    if user.exec:
        return _plugin(at, user.exec, cluster, server, ca, env)
    if user.auth_provider:
        raise UsageError(
            f"{at}: auth-provider `{user.auth_provider.get('name', '')}` is not supported",
            "use an `exec` credential plugin; kubectl itself has dropped most auth-providers",
        )
    return Anonymous()


def _plugin(
    at: Path, plugin: ExecConfig, cluster: Cluster, server: str, ca: bytes, env: Mapping[str, str]
) -> ExecPlugin:
    if not plugin.command:
        raise UsageError(f"{at}: exec has no command")
    if plugin.api_version not in EXEC_API_VERSIONS:
        raise UsageError(
            f"{at}: exec apiVersion `{plugin.api_version}` is not supported",
            f"the plugin must speak {' or '.join(EXEC_API_VERSIONS)}",
        )
    if plugin.interactive_mode == "Always":
        raise UsageError(
            f"{at}: exec plugin `{plugin.command}` has `interactiveMode: Always`; "
            "dlf runs it without a terminal"
        )
    # A bare name is looked up in PATH; anything with a slash is relative to the kubeconfig.
    command = str(at.parent / plugin.command) if "/" in plugin.command else plugin.command
    cluster_info: dict[str, str | bool] = {}
    if plugin.provide_cluster_info:
        cluster_info = {
            "server": server,
            "certificate-authority-data": base64.b64encode(ca).decode(),
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "tls-server-name": cluster.tls_server_name,
            "proxy-url": cluster.proxy_url,
        }
    return ExecPlugin(
        command=[command, *(plugin.args or ())],
        api_version=plugin.api_version,
        env={**env, **{variable.name: variable.value for variable in plugin.env or ()}},
        cluster={key: value for key, value in cluster_info.items() if value},
        install_hint=plugin.install_hint,
    )
