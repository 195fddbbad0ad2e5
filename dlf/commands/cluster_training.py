"""The training job in a cluster: from the parsed command to `dlf.job`."""

from dlf.commands.cluster import connect, verbose_notify
from dlf.commands.invocation import Invocation
from dlf.commands.printing import check_ranks, log_options, log_writer
from dlf.edge import Edge
from dlf.job.run import RunRequest, detach, run
from dlf.job.submit import choose_kind
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.manifest import Manifest, to_json
from dlf.outcome.outcome import Outcome


async def train(invocation: Invocation, edge: Edge) -> Outcome:
    """Run the training job; see `dlf.job.run`."""
    async with connect(invocation.connection, edge) as (client, namespace):
        request = _request(invocation, namespace, edge)
        with log_writer(edge) as writer:

            def open_logs(ranks: int) -> Multiplexer:
                check_ranks(invocation.logs, edge, ranks)
                options = log_options(invocation.logs, edge)
                return Multiplexer(client, writer, options, edge.notify)

            verbose = verbose_notify(invocation.connection, edge)
            return await run(
                request, client, open_logs, edge.env, edge.notify, verbose, edge.show_status
            )


async def submit_only(invocation: Invocation, edge: Edge) -> str:
    """Submit the job; its name."""
    async with connect(invocation.connection, edge) as (client, namespace):
        request = _request(invocation, namespace, edge)
        verbose = verbose_notify(invocation.connection, edge)
        job = await detach(request, client, edge.env, edge.notify, verbose)
        return job.metadata.name


def _request(invocation: Invocation, namespace: str, edge: Edge) -> RunRequest:
    return RunRequest(
        framework=invocation.framework,
        task=invocation.task,
        namespace=namespace,
        backend=invocation.run.backend,
        suffix=edge.token(4),
        nonce=edge.token(16),
        lifecycle=invocation.lifecycle,
    )


async def validated(invocation: Invocation, edge: Edge) -> Manifest:
    """The resource for the kind that the cluster serves, after the API server accepted it.

    Nothing is created: the request is a dry run, with strict validation.
    """
    async with connect(invocation.connection, edge) as (client, namespace):
        kind = await choose_kind(client, invocation.framework, invocation.run.backend, edge.notify)
        manifest = invocation.framework.manifest(invocation.task, kind, edge.token(4))
        await client.create(kind, namespace, to_json(manifest), dry_run=True)
        edge.notify(f"the API server accepts this {kind.title} in namespace {namespace}")
        return manifest
