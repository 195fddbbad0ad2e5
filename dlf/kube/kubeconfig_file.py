"""The kubeconfig file format: the fields that dlf reads.

Type: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
"""

from pathlib import Path
from typing import dataclass_transform

import msgspec
from msgspec import field

from dlf.errors import UsageError
from dlf.kube.yaml_file import read_yaml


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A part of the file; unknown fields are ignored."""


class Cluster(_Part):
    """How to reach a cluster."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""


class Context(_Part):
    """A user at a cluster."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class ExecEnvVar(_Part):
    """An environment variable of a credential plugin."""

    name: str
    value: str


class ExecConfig(_Part, rename="camel"):
    """A credential plugin."""

    api_version: str = ""
    command: str = ""
    args: list[str] | None = None
    env: list[ExecEnvVar] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(_Part):
    """A credential."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    auth_provider: dict[str, object] | None = None
    as_: str = field(default="", name="as")


class NamedCluster(_Part):
    """A cluster and its name."""

    name: str
    cluster: Cluster | None = None


class NamedContext(_Part):
    """A context and its name."""

    name: str
    context: Context | None = None


class NamedUser(_Part):
    """A user and its name."""

    name: str
    user: User | None = None


class KubeconfigFile(_Part):
    """One kubeconfig file."""

    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    contexts: list[NamedContext] | None = None
    users: list[NamedUser] | None = None


def parse(path: Path) -> KubeconfigFile:
    """Read one file.

    Raises:
        UsageError: it cannot be read, or is no kubeconfig.
    """
    tree = read_yaml(path, str(path))
    try:
        return msgspec.convert(_without_nulls(tree) or {}, KubeconfigFile)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{path} is not a kubeconfig: {error}") from error


def _without_nulls(tree: object) -> object:
    """Treat `token: null`, or no value after the colon, as absent, as kubectl does."""
    match tree:
        case dict():
            return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
        case list():
            return [_without_nulls(item) for item in tree]
        case _:
            return tree
