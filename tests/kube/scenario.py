"""Run an async test against the fake API server, on a clock that jumps."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from fake_api import FakeApi
from virtual_loop import run

from dlf.kube.client import KubeClient
from dlf.kube.cluster_config import ClusterConfig

OURS = ("api", "client", "notices")


def scenario(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a pytest function of an async one.

    Its parameters `api` (the server), `client` (of that server) and `notices` (what the client
    told the user) are given here; others are pytest's.
    """
    names = inspect.signature(test).parameters

    async def act(given: dict[str, Any]) -> None:
        notices: list[str] = []
        async with (
            FakeApi() as api,
            KubeClient(cluster(api), outage_budget=1800.0, notify=notices.append) as client,
        ):
            ours = dict(zip(OURS, (api, client, notices), strict=True))
            await test(**given, **{name: ours[name] for name in OURS if name in names})

    def wrapper(**given: Any) -> None:
        run(act(given))

    wrapper.__name__ = test.__name__
    wrapper.__doc__ = test.__doc__
    wrapper.__module__ = test.__module__
    left = [each for name, each in names.items() if name not in OURS]
    wrapper.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
    return wrapper


def cluster(api: FakeApi, **more: Any) -> ClusterConfig:
    """The configuration of a client of this server."""
    return ClusterConfig(origin="test", server=api.url, **more)
