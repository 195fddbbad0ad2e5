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
from dlf.kube.yaml_file import read_yaml
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


class _Metadata(msgspec.Struct, frozen=True):
    """What dlf reads of metav1.ObjectMeta."""

    name: str = ""
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


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
    kind, metadata, spec = _read(resource.file)
    namespace = metadata.namespace or ""
    if namespace and connection.namespace not in {"", namespace}:
        raise UsageError(
            f"--file={resource.file!r} is for namespace {namespace!r}, and --namespace is"
            f" {connection.namespace!r}",
            "leave one of the two out",
        )
    invocation = Invocation(
        framework=_framework(kind, metadata, spec),
        # What the resource says of its roles counts, not what the environment says.
        task=msgspec.structs.replace(load(TaskSettings, Arguments({}, [], []), edge.env), role=()),
        run=Run(dry_run=resource.dry_run, detach=resource.detach),
        lifecycle=lifecycle,
        logs=logs,
        connection=msgspec.structs.replace(connection, namespace=connection.namespace or namespace),
        arguments=Arguments({}, [], []),
    )
    return train.execute(invocation, edge)


def _read(path: str) -> tuple[JobKind, _Metadata, Any]:
    """The kind, the metadata and the spec of the job in a file."""
    source = f"--file={path!r}"
    content = read_yaml(Path(path), source)
    parts = content if isinstance(content, dict) else {}
    named = (str(parts.get("apiVersion")), str(parts.get("kind")))
    kinds = {(kind.api_version, kind.name): kind for kind in job_kinds()}
    if named not in kinds:
        known = ", ".join(f"{name} ({version})" for version, name in kinds)
        raise UsageError(f"{source} is not a job that dlf knows", f"write one of {known}")
    spec = parts.get("spec")
    if not parts.get("metadata") or not isinstance(spec, dict):
        raise UsageError(f"{source} has no metadata.name or no spec", "write both")
    try:
        metadata = msgspec.convert(parts["metadata"], _Metadata)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source} has metadata that is not valid: {error}") from None
    if not metadata.name:
        raise UsageError(f"{source} has no metadata.name or no spec", "write both")
    return kinds[named], metadata, spec


def _framework(kind: JobKind, meta: _Metadata, content: Any) -> Framework:
    """A framework that renders this content."""

    def render(settings: TaskSettings, _kind: JobKind, _suffix: str) -> Manifest:
        ids = {"run-id": settings.run_id, "task-id": settings.task_id}
        labels = {key: label_value(text) for key, text in ids.items() if text}
        metadata = ObjectMeta(
            name=meta.name,
            namespace=meta.namespace or "",
            labels=labels | (meta.labels or {}),
            annotations=meta.annotations or {},
        )
        try:
            spec = msgspec.json.encode(content)
        except (TypeError, ValueError) as error:
            raise UsageError(f"--file: the spec cannot be sent: {error}") from None
        # The API server, not dlf, says what a spec may hold.
        raw: Any = msgspec.Raw(spec)
        return Manifest(api_version=kind.api_version, kind=kind.name, metadata=metadata, spec=raw)

    return Framework(
        name="run",
        settings=TaskSettings,
        kinds=(kind,),
        render=render,
    )
