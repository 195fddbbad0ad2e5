"""The commands' way into a cluster, and from there to standard output."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from dlf.edge import Edge
from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.logs.writer import OutputClosed, Writer
from dlf.task.options import Connection

_FLUSH = 10.0  # seconds that a reader of stdout gets for the last lines


@asynccontextmanager
async def connect(flags: Connection, edge: Edge) -> AsyncIterator[tuple[KubeClient, str]]:
    """A client, and the namespace to work in: the flag's, the platform's or the credentials'.

    Raises:
        UsageError: there are no usable credentials.
    """
    config = load_config(edge.env, kubeconfig=flags.kubeconfig, context=flags.context)
    namespace = flags.namespace or config.namespace or "default"
    async with KubeClient(config, outage=flags.api_outage, notice=edge.say) as client:
        yield client, namespace


@contextmanager
def log_writer(edge: Edge) -> Iterator[Writer]:
    """Standard output for log lines; what is left in the end is written for a bounded time.

    A reader that has enough, such as `head`, is no fault: the job is followed on to its result.
    """

    def ended(closed: OutputClosed) -> None:
        if closed.reason:
            edge.say(closed.reason)

    writer = Writer(edge.stdout, on_closed=ended)
    try:
        yield writer
    finally:
        writer.flush(_FLUSH)
        writer.close()


def detail(flags: Connection, edge: Edge) -> Callable[[str], None]:
    """Says a line with `--verbose` only."""
    return edge.say if flags.verbose else lambda _: None
