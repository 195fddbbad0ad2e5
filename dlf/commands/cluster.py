"""How commands reach the API server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from dlf.edge import Edge
from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.task.settings import Connection


@asynccontextmanager
async def connect(flags: Connection, edge: Edge) -> AsyncIterator[tuple[KubeClient, str]]:
    """A client, and the namespace to use: from the flag, the platform, or the kubeconfig.

    Raises:
        UsageError: there are no usable credentials.
    """
    config = load_config(edge.env, kubeconfig=flags.kubeconfig, context=flags.context)
    namespace = flags.namespace or config.namespace or "default"
    async with KubeClient(config, outage_budget=flags.api_outage, notify=edge.notify) as client:
        yield client, namespace


def verbose_notify(flags: Connection, edge: Edge) -> Callable[[str], None]:
    """`edge.notify` with `--verbose`, else a function that prints nothing."""
    return edge.notify if flags.verbose else lambda _: None
