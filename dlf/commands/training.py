"""The training job in a cluster: from the parsed command to `dlf.job`."""

from typing import TYPE_CHECKING

from dlf.commands.cluster import connect, detail, log_writer
from dlf.commands.printing import log_options
from dlf.edge import Edge
from dlf.job.outcome import Outcome
from dlf.job.run import Request, run
from dlf.job.submit import choose_kind
from dlf.logs.mux import Multiplexer
from dlf.manifest.manifest import Manifest, to_json

if TYPE_CHECKING:
    from dlf.commands.train import Invocation


async def train(asked: "Invocation", edge: Edge) -> Outcome:
    """Run the training job; see `dlf.job.run`."""
    async with connect(asked.connection, edge) as (client, namespace):
        request = Request(
            framework=asked.framework,
            task=asked.task,
            namespace=namespace,
            backend=asked.run.backend,
            suffix=edge.token(4),
            nonce=edge.token(16),
            lifecycle=asked.lifecycle,
        )
        with log_writer(edge) as writer:

            def open_logs(ranks: int) -> Multiplexer:
                options = log_options(asked.logs, edge, ranks)
                return Multiplexer(client, writer, options, edge.say)

            murmur = detail(asked.connection, edge)
            return await run(request, client, open_logs, edge.env, edge.say, murmur)


async def validated(asked: "Invocation", edge: Edge) -> Manifest:
    """The resource for the kind that the cluster serves, after the API server accepted it.

    Nothing is created: the request is a dry run, with strict validation.
    """
    async with connect(asked.connection, edge) as (client, namespace):
        kind = await choose_kind(client, asked.framework, asked.run.backend, edge.say)
        manifest = asked.framework.render(asked.task, kind, edge.token(4))
        await client.create(kind, namespace, to_json(manifest), dry_run=True)
        edge.say(f"the API server accepts this {kind.name} in namespace {namespace}")
        return manifest
