"""Credential plugins: run the command of the kubeconfig, read the ExecCredential that it prints.

Type: https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

import asyncio
import datetime
import os
import signal
from contextlib import suppress

import msgspec

from dlf.errors import UsageError
from dlf.kube.cluster_config import ExecPlugin
from dlf.manifest.observed import Observed

TIMEOUT_SECONDS = 60.0
"""That a plugin may take; those that ask a cloud need a few."""


class ExecCredentialStatus(Observed):
    """ExecCredentialStatus."""

    expiration_timestamp: datetime.datetime | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""

    def expired(self) -> bool:
        """Whether the plugin has to be asked again. Without a time it is valid until a 401."""
        expires = self.expiration_timestamp
        if expires is None:
            return False
        if expires.tzinfo is None:
            expires = expires.replace(tzinfo=datetime.UTC)
        return expires <= datetime.datetime.now(datetime.UTC)


class _ExecCredential(Observed):
    kind: str = ""
    api_version: str = ""
    status: ExecCredentialStatus | None = None


async def run_plugin(plugin: ExecPlugin) -> ExecCredentialStatus:
    """Ask the plugin for a credential.

    Raises:
        UsageError: it is not installed, fails, takes longer than `TIMEOUT_SECONDS`, or does not
            print an ExecCredential.
    """
    name = plugin.command[0]
    spec: dict[str, object] = {"interactive": False}
    if plugin.cluster:
        spec["cluster"] = plugin.cluster
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    env = {**plugin.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}
    try:
        code, stdout, stderr = await _run(plugin.command, env)
    except FileNotFoundError as error:
        hint = plugin.install_hint or "install it, or fix `exec` in the kubeconfig"
        raise UsageError(f"credential plugin {name!r} is not installed", hint) from error
    except TimeoutError as error:
        raise UsageError(
            f"credential plugin {name!r} did not end within {TIMEOUT_SECONDS:.0f} s"
        ) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"credential plugin {name!r} cannot be started: {error}") from error
    if code:
        message = stderr.decode(errors="replace").strip() or "no message"
        raise UsageError(f"credential plugin {name!r} failed with exit code {code}: {message}")
    return _status(plugin, stdout)


async def _run(command: list[str], env: dict[str, str]) -> tuple[int, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            stdout, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            # With all its children, which may hold the other end of our pipes.
            with suppress(ProcessLookupError):  # it ended at this moment
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode or 0, stdout, stderr


def _status(plugin: ExecPlugin, stdout: bytes) -> ExecCredentialStatus:
    name = plugin.command[0]
    try:
        answer = msgspec.json.decode(stdout, type=_ExecCredential)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"credential plugin {name!r} printed no valid ExecCredential: {error}"
        ) from error
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise UsageError(
            f"credential plugin {name!r} prints {answer.api_version or 'no apiVersion'} "
            f"{answer.kind or 'no kind'}, not {plugin.api_version} ExecCredential"
        )
    status = answer.status or ExecCredentialStatus()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise UsageError(
            f"credential plugin {name!r} returned only one of client certificate and key"
        )
    if not status.token and not status.client_certificate_data:
        raise UsageError(
            f"credential plugin {name!r} returned neither a token nor a client certificate"
        )
    return status
