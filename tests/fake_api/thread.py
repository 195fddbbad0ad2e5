"""The API server beside the test: in a thread, on a real clock, with TLS and a kubeconfig.

For clients that bring their own loop or process: the executable, kubectl, the official client.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from fake_api.api import FakeApi
from fake_api.certificates import Authority

T = TypeVar("T")


class ApiThread:
    """A context manager that runs a `FakeApi` in a thread.

    Args:
        folder: where the kubeconfig is written.
        namespace: of its context.
        token: the bearer token that the server demands and the kubeconfig holds.

    Attributes:
        api: the server; touch it only through `call`.
        kubeconfig: path of the file.
    """

    api: FakeApi

    def __init__(self, folder: Path, *, namespace: str = "ml", token: str = "secret") -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._namespace = namespace
        self._token = token
        self._authority = Authority()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake API server")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        self.kubeconfig.write_text(
            kubeconfig(self.api.url, self._authority.pem, self._token, self._namespace)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def call(self, what: Callable[[FakeApi], T]) -> T:
        """Run this in the server's thread and return its result."""

        async def run() -> T:
            return what(self.api)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with FakeApi(self._authority.server()) as self.api:
            self.api.tokens = {self._token}
            self._ready.set()
            await self._stop.wait()


def kubeconfig(url: str, ca: bytes, token: str, namespace: str) -> str:
    """A kubeconfig file with one context, as JSON, which is YAML too."""
    cluster: dict[str, Any] = {"server": url}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "fake",
        "contexts": [
            {"name": "fake", "context": {"cluster": "fake", "user": "fake", "namespace": namespace}}
        ],
        "clusters": [{"name": "fake", "cluster": cluster}],
        "users": [{"name": "fake", "user": {"token": token}}],
    }
    return json.dumps(document)
