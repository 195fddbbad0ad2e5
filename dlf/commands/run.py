"""`dlf run --file JOB.yaml`: run a resource that was written by hand as `dlf FRAMEWORK` runs one.

What dlf needs is added: its annotations, the launcher's pod as owner, and the labels of the run
and task, by which a re-run finds the job.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dlf.commands import train
from dlf.commands.arguments import read
from dlf.commands.invocation import Invocation
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError
from dlf.frameworks import job_kinds
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest
from dlf.manifest.meta import ObjectMeta
from dlf.manifest.names import label_value
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.load import Arguments, load
from dlf.task.settings import Connection, Detach, DryRun, Lifecycle, Logs, Run, TaskSettings


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """What to run."""

    file: Annotated[
        str, Flag("file with one job, YAML or JSON", scalars.text, metavar="FILE", short="-f")
    ] = ""
    dry_run: DryRun = ""
    detach: Detach = False


GROUPS = (
    ("What to run", Resource),
    ("Earlier jobs, stops, time limits", Lifecycle),
    ("Logs", Logs),
    ("Cluster", Connection),
)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Run it; the exit code is that of `dlf FRAMEWORK`."""
    parsed = read(argv, edge, "dlf run", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    resource, lifecycle, logs, connection = parsed[1]
    if not resource.file:
        raise UsageError("--file is missing", "write dlf run --file JOB.yaml")
    kind, content = _read(resource.file)
    namespace = content["metadata"].get("namespace", "")
    if namespace and connection.namespace not in {"", namespace}:
        raise UsageError(
            f"--file={resource.file!r} is for namespace {namespace!r}, and --namespace is"
            f" {connection.namespace!r}",
            "leave one of the two out",
        )
    invocation = Invocation(
        framework=_framework(kind, content),
        task=load(TaskSettings, Arguments({}, [], []), edge.env),
        run=Run(dry_run=resource.dry_run, detach=resource.detach),
        lifecycle=lifecycle,
        logs=logs,
        connection=msgspec.structs.replace(connection, namespace=connection.namespace or namespace),
        arguments=Arguments({}, [], []),
    )
    return train.execute(invocation, edge)


def _read(path: str) -> tuple[JobKind, dict[str, Any]]:
    """The kind and the content of a job in a file."""
    import yaml

    source = f"--file={path!r}"
    try:
        content = yaml.safe_load(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{source} is not valid YAML: {' '.join(str(error).split())}") from None
    parts = content if isinstance(content, dict) else {}
    named = (str(parts.get("apiVersion")), str(parts.get("kind")))
    kinds = {(kind.api_version, kind.name): kind for kind in job_kinds()}
    if named not in kinds:
        known = ", ".join(f"{name} ({version})" for version, name in kinds)
        raise UsageError(f"{source} is not a job that dlf knows", f"write one of {known}")
    meta, spec = parts.get("metadata"), parts.get("spec")
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(name, str) or not isinstance(spec, dict):
        raise UsageError(f"{source} has no metadata.name or no spec", "write both")
    return kinds[named], parts


def _framework(kind: JobKind, content: dict[str, Any]) -> Framework:
    """A framework that renders this content."""

    def render(settings: TaskSettings, _kind: JobKind, _suffix: str) -> Manifest:
        ids = {"run-id": settings.run_id, "task-id": settings.task_id}
        labels = {key: label_value(text) for key, text in ids.items() if text}
        meta = content["metadata"]
        try:
            metadata = ObjectMeta(
                name=meta["name"],
                namespace=meta.get("namespace", ""),
                labels=labels | (meta.get("labels") or {}),
                annotations=meta.get("annotations") or {},
            )
            spec = msgspec.json.encode(content["spec"])
        except (TypeError, ValueError) as error:
            raise UsageError(f"--file: metadata or spec cannot be sent: {error}") from None
        # The API server, not dlf, says what a spec may hold.
        raw: Any = msgspec.Raw(spec)
        return Manifest(api_version=kind.api_version, kind=kind.name, metadata=metadata, spec=raw)

    return Framework(
        name="run",
        summary="a resource from a file",
        settings=TaskSettings,
        kinds=(kind,),
        render=render,
    )
