"""The commands' way into a cluster: credentials, namespace, client, and the training job itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dlf.commands.printing import log_options
from dlf.edge import Edge
from dlf.job.outcome import Outcome
from dlf.job.run import Request, run
from dlf.job.submit import choose_kind
from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.logs.mux import Multiplexer
from dlf.logs.writer import OutputClosed, Writer
from dlf.manifest.manifest import Manifest, to_json
from dlf.task.options import Connection

if TYPE_CHECKING:
    from dlf.commands.train import Invocation

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


async def train(asked: "Invocation", edge: Edge) -> Outcome:
    """Run the training job; see `dlf.job.run`."""
    writer = Writer(edge.stdout, on_closed=lambda closed: _output_ended(closed, edge))
    async with connect(asked.connection, edge) as (client, namespace):

        def open_logs(ranks: int) -> Multiplexer:
            options = log_options(asked.logs, edge, ranks=ranks)
            return Multiplexer(client, writer, options, edge.say)

        def detail(line: str) -> None:
            if asked.connection.verbose:
                edge.say(line)

        request = Request(
            framework=asked.framework,
            task=asked.task,
            namespace=namespace,
            backend=asked.run.backend,
            suffix=edge.token(4),
            nonce=edge.token(16),
            lifecycle=asked.lifecycle,
        )
        try:
            return await run(request, client, open_logs, edge.env, edge.say, detail)
        finally:
            writer.flush(_FLUSH)
            writer.close()


async def validated(asked: "Invocation", edge: Edge) -> Manifest:
    """The resource for the kind that the cluster serves, after the API server accepted it.

    Nothing is created: the request is a dry run, with strict validation.
    """
    async with connect(asked.connection, edge) as (client, namespace):
        kind = await choose_kind(client, asked.framework, asked.run.backend)
        manifest = asked.framework.render(asked.task, kind, edge.token(4))
        await client.create(kind, namespace, to_json(manifest), dry_run=True)
        edge.say(f"the API server accepts this {kind.name} in namespace {namespace}")
        return manifest


def _output_ended(closed: OutputClosed, edge: Edge) -> None:
    """The job is followed on to its result; a reader that has enough is no fault."""
    if closed.reason:
        edge.say(closed.reason)
