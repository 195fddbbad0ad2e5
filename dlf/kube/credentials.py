"""The credential of each request, read anew each time: tokens rotate while a job runs for days."""

import asyncio
import base64
import ssl
from pathlib import Path

from dlf.errors import UsageError
from dlf.kube.cluster_config import (
    Anonymous,
    BasicAuth,
    ClusterConfig,
    ExecPlugin,
    StaticToken,
    TokenFile,
)
from dlf.kube.exec_plugin import ExecCredentialStatus, run_plugin
from dlf.kube.tls import load_client_certificate


class Credentials:
    """The Authorization header of each request, and a plugin's client certificate.

    Args:
        config: of the cluster.
        tls: where a client certificate from a plugin is loaded.
    """

    def __init__(self, config: ClusterConfig, tls: ssl.SSLContext) -> None:
        self._config = config
        self._tls = tls
        self._plugin_lock = asyncio.Lock()
        self._status: ExecCredentialStatus | None = None

    async def headers(self) -> dict[str, str]:
        """The header to send now, or none.

        A token file is read each time: that costs nothing beside a request, and is never stale.

        Raises:
            UsageError: the token file cannot be read, or the plugin gives nothing.
        """
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
        """The server answered 401 to these headers: do not use the plugin's answer again."""
        if self._status and _bearer(self._status.token) == headers:
            self._status = None

    async def _run(self, plugin: ExecPlugin) -> ExecCredentialStatus:
        async with self._plugin_lock:
            if self._status is None or self._status.expired():
                self._status = await run_plugin(plugin)
                if self._status.client_certificate_data:
                    load_client_certificate(
                        self._tls,
                        self._status.client_certificate_data.encode(),
                        self._status.client_key_data.encode(),
                        f"credential plugin {plugin.command[0]}",
                    )
            return self._status


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
