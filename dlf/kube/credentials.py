"""The credential of each request, read anew each time: tokens and certificates rotate for days."""

import asyncio
import base64
from collections.abc import Iterable
from pathlib import Path

import msgspec

from dlf.errors import UsageError
from dlf.kube.cluster_config import (
    Anonymous,
    BasicAuth,
    ClientCertificate,
    ClusterConfig,
    ExecPlugin,
    StaticToken,
    TokenFile,
)
from dlf.kube.exec_plugin import ExecCredentialStatus, run_plugin


class Credentials:
    """The Authorization header, and the client certificate, of each request.

    Attributes:
        certificate: the client certificate as of the last call of `headers`; None for none.
    """

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._plugin_lock = asyncio.Lock()
        self._status: ExecCredentialStatus | None = None
        files = config.certificate and config.certificate.files
        self._file_versions = _versions(files or ())
        self.certificate = config.certificate

    async def headers(self) -> dict[str, str]:
        """The header to send now, or none.

        A token file is read each time, and certificate files when they have changed: that costs
        nothing beside a request, and is never stale.

        Raises:
            UsageError: the token file cannot be read, or the plugin gives nothing.
        """
        self._reload_certificate()
        match self._config.credential:
            case Anonymous():
                return {}
            case StaticToken(token):
                return _bearer(token)
            case TokenFile(path):
                return _bearer(_read(path))
            case BasicAuth(username, password):
                pair = base64.b64encode(f"{username}:{password}".encode()).decode()
                return {"Authorization": f"Basic {pair}"}
            case ExecPlugin() as plugin:
                return _bearer((await self._run(plugin)).token)

    def on_unauthorized(self, headers: dict[str, str]) -> None:
        """The server answered 401 to these headers: do not use the plugin's credential again."""
        if self._status and _bearer(self._status.token) == headers:
            self._status = None

    async def _run(self, plugin: ExecPlugin) -> ExecCredentialStatus:
        async with self._plugin_lock:
            if self._status is None or self._status.expired():
                self._status = await run_plugin(plugin)
                if self._status.client_certificate_data:
                    self.certificate = ClientCertificate(
                        origin=f"credential plugin {plugin.command[0]}",
                        certificate=self._status.client_certificate_data.encode(),
                        key=self._status.client_key_data.encode(),
                    )
            return self._status

    def _reload_certificate(self) -> None:
        """Read certificate files again that were replaced, as client-go does.

        While only one of them is replaced they are no pair; what uses them fails, and is retried.
        """
        configured = self._config.certificate
        if not (configured and configured.files):
            return
        versions = _versions(configured.files)
        if None in versions or versions == self._file_versions:
            return
        certificate, key = (path.read_bytes() for path in configured.files)
        self._file_versions = versions
        self.certificate = msgspec.structs.replace(configured, certificate=certificate, key=key)


def _versions(paths: Iterable[Path]) -> list[tuple[int, int, int] | None]:
    """What differs between a file and the one that replaces it; None for a file that is missing."""
    versions: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            versions.append(None)
        else:
            versions.append((stat.st_mtime_ns, stat.st_ino, stat.st_size))
    return versions


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"token file {path}: {error}") from error
    if not token:
        raise UsageError(f"token file {path} is empty")
    return token


def _bearer(token: str) -> dict[str, str]:
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the bearer token has characters that no header can carry")
    return {"Authorization": f"Bearer {token}"} if token else {}
