"""Checks whether a cluster would run a task, as far as that can be known before submitting it."""

import asyncio
import enum
from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from dlf.diagnose.pod_group import QUEUE, Queue
from dlf.errors import Rejected
from dlf.frameworks import kind_of
from dlf.frameworks.framework import Framework, candidates
from dlf.job.submit import choose_kind
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.volcano import VOLCANO_JOB, VolcanoJobSpec
from dlf.manifest.kinds import Kind
from dlf.manifest.manifest import Manifest, to_json
from dlf.manifest.names import NAME_LIMIT
from dlf.preflight.capacity import Node, unschedulable_reason
from dlf.preflight.permissions import Verb, verbs
from dlf.preflight.references import Reference, pods_by_role, references
from dlf.task.settings import TaskSettings

_NAMESPACE = Kind(group="", version="v1", name="Namespace", plural="namespaces")
_NODE = Kind(group="", version="v1", name="Node", plural="nodes")
_ROLE = "see docs/how-to/rbac.md"


class Result(enum.Enum):
    """The result of one check."""

    OK = "ok"
    NOTE = "note"  # a job runs, but not all that it names exists
    UNKNOWN = "unknown"  # dlf may not read it
    FAILED = "FAILED"


class CheckLine(msgspec.Struct, frozen=True):
    """One line of the table: what was checked, what was found, what to do about it."""

    check: str
    result: Result
    finding: str
    remedy: str = ""


Lines = list[CheckLine]


async def check(
    client: KubeClient,
    namespace: str,
    framework: Framework,
    task: TaskSettings,
    *,
    backend: str,
    suffix: str,
) -> Lines:
    """Run all checks at the same time.

    Raises:
        ClusterLost: the API server cannot be reached.
        UsageError: the framework has no kind of this backend, or the task cannot be rendered.
    """
    try:
        kind = await choose_kind(client, framework, backend, lambda _: None)
        served = CheckLine("API", Result.OK, f"{kind.name} {kind.api_version}")
    except Rejected as error:
        kind = candidates(framework, backend)[0]
        served = CheckLine("API", Result.FAILED, error.message, error.hint)
    manifest = framework.manifest(task, kind, suffix)
    checks: list[Coroutine[Any, Any, Lines]] = [
        _permissions(client, namespace, kind),
        _namespace(client, namespace),
        _queue(client, manifest),
        _nodes(client, manifest),
        *(_reference(client, namespace, each) for each in references(manifest)),
    ]
    if served.result is Result.OK:
        checks.append(_dry_run(client, namespace, kind, manifest))
    found = await asyncio.gather(*checks)
    return [served, _names(manifest), *(line for lines in found for line in lines)]


async def _permissions(client: KubeClient, namespace: str, kind: Kind) -> Lines:
    wanted = verbs(kind)
    try:
        allowed = await asyncio.gather(*(_may(client, namespace, each) for each in wanted))
    except Rejected as error:
        return [CheckLine("permissions", Result.UNKNOWN, error.message)]
    missing = [each for each, is_allowed in zip(wanted, allowed, strict=True) if not is_allowed]
    return [_denied(each) for each in missing] or [
        CheckLine("permissions", Result.OK, f"all {len(wanted)} that dlf uses")
    ]


async def _may(client: KubeClient, namespace: str, verb: Verb) -> bool:
    plural, _, sub = verb.resource.partition("/")
    where = "" if verb.permission.cluster else namespace
    return await client.is_allowed(verb.verb, (verb.group, plural, sub), where)


def _denied(verb: Verb) -> CheckLine:
    needed = verb.permission.need == "run"
    return CheckLine(
        "permissions",
        Result.FAILED if needed else Result.NOTE,
        f"may not {verb.text}, to {verb.permission.why}",
        f"add it to the {'ClusterRole' if verb.permission.cluster else 'Role'}; {_ROLE}",
    )


async def _namespace(client: KubeClient, namespace: str) -> Lines:
    try:
        there = await client.get(_NAMESPACE, "", namespace, msgspec.Raw)
    except Rejected as error:
        return [CheckLine("namespace", Result.UNKNOWN, error.message)]
    if there is None:
        return [
            CheckLine(
                "namespace",
                Result.FAILED,
                f"{namespace} does not exist",
                "create it, or give another --namespace",
            )
        ]
    return [CheckLine("namespace", Result.OK, namespace)]


async def _queue(client: KubeClient, manifest: Manifest) -> Lines:
    spec = manifest.spec
    gang = None if isinstance(spec, VolcanoJobSpec) else spec.run_policy.scheduling_policy
    name = spec.queue if isinstance(spec, VolcanoJobSpec) else gang.queue if gang else ""
    if not name:
        return []
    try:
        queue = await client.get(QUEUE, "", name, Queue)
    except Rejected as error:
        if kind_of(manifest) != VOLCANO_JOB and error.status == 404:
            remedy = "leave --queue out, or install Volcano"
            return [CheckLine("queue", Result.FAILED, "the cluster has no queues", remedy)]
        return [CheckLine("queue", Result.UNKNOWN, error.message)]
    if queue is None:
        return [CheckLine("queue", Result.FAILED, f"{name} does not exist", "give another --queue")]
    if queue.status.state not in {"", "Open"}:
        remedy = "have it opened, or give another --queue"
        return [CheckLine("queue", Result.FAILED, f"{name} is {queue.status.state}", remedy)]
    return [CheckLine("queue", Result.OK, f"{name} is open")]


async def _reference(client: KubeClient, namespace: str, wanted: Reference) -> Lines:
    kind = wanted.kind
    where = "" if kind.group else namespace
    try:
        there = await client.get(kind, where, wanted.name, msgspec.Raw)
    except Rejected as error:
        return [CheckLine(kind.name, Result.UNKNOWN, error.message)]
    if there is not None:
        return [CheckLine(kind.name, Result.OK, wanted.name)]
    if wanted.optional:
        found = f"{wanted.name} does not exist; images are pulled without it"
        return [CheckLine(kind.name, Result.NOTE, found, "create it, or change HUBSECRET")]
    found = f"{wanted.name} does not exist; pods would wait for it for ever"
    return [CheckLine(kind.name, Result.FAILED, found, "create it, or do not mount or name it")]


async def _nodes(client: KubeClient, manifest: Manifest) -> Lines:
    try:
        nodes, _ = await client.list(_NODE, "", Node)
    except Rejected as error:
        return [CheckLine("nodes", Result.UNKNOWN, error.message)]
    pods = pods_by_role(manifest)
    if found := unschedulable_reason(nodes, pods):
        remedy = "ask for less, or for other nodes (KFJ_TASK_NODE_SELECTOR, KFJ_TASK_RESOURCE_*)"
        return [CheckLine("nodes", Result.FAILED, found, remedy)]
    total = sum(role.replicas for role in pods)
    return [CheckLine("nodes", Result.OK, f"{len(nodes)} nodes, which could hold all {total} pods")]


def _names(manifest: Manifest) -> CheckLine:
    job = manifest.metadata.name
    pods = (f"{job}-{role.name}-{max(role.replicas - 1, 0)}" for role in pods_by_role(manifest))
    longest = max([job, *pods], key=len)
    if len(longest) > NAME_LIMIT:
        return CheckLine(
            "names",
            Result.FAILED,
            f"{longest} has {len(longest)} characters, {NAME_LIMIT} are allowed",
            "use shorter names of roles",
        )
    return CheckLine("names", Result.OK, f"the longest is {longest}")


async def _dry_run(client: KubeClient, namespace: str, kind: Kind, manifest: Manifest) -> Lines:
    body = to_json(manifest)
    try:
        stored = await client.create(kind, namespace, body, dry_run=True)
    except Rejected as error:
        return [CheckLine("dry run", Result.FAILED, error.message, error.hint)]
    # API servers before 1.25 do not know strict validation: they drop what they do not know.
    dropped = list(_dropped(msgspec.json.decode(body), msgspec.json.decode(stored), ""))
    if dropped:
        found = f"the API server drops {', '.join(dropped[:5])}"
        return [CheckLine("dry run", Result.FAILED, found, "update the operator's CRD")]
    return [CheckLine("dry run", Result.OK, "the API server accepts it, and drops nothing")]


def _dropped(sent: Any, stored: Any, path: str) -> Iterable[str]:
    """The paths of what was sent and not stored."""
    match sent:
        case dict():
            for key, value in sent.items():
                if not isinstance(stored, dict) or key not in stored:
                    yield f"{path}.{key}".lstrip(".")
                else:
                    yield from _dropped(value, stored[key], f"{path}.{key}")
        case list() if isinstance(stored, list) and len(stored) >= len(sent):
            for index, value in enumerate(sent):
                yield from _dropped(value, stored[index], f"{path}[{index}]")
        case list():
            yield path.lstrip(".")
        case _:
            pass
