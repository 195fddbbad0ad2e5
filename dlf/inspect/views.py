"""What `dlf list` and `dlf status` show of jobs, as plain values."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from dlf.diagnose.events import event_order, event_time
from dlf.diagnose.pod_state import container_statuses, describe_pod
from dlf.diagnose.roles import Roles, roles_of
from dlf.errors import Rejected
from dlf.frameworks import job_state
from dlf.inspect.lookup import FoundJob, dlf_jobs
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.kubeflow import JOB_LABEL as TRAINING_LABEL
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import EVENT, POD
from dlf.manifest.names import task_title
from dlf.manifest.observed import Event, Pod

SHOWN_EVENTS = 20
"""Only the newest are shown."""


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job in a list: `running` of `total` pods are Running; `created` is RFC 3339 in UTC."""

    kind: str
    namespace: str
    name: str
    state: str
    running: int
    total: int
    created: str
    task: str


class PodRow(msgspec.Struct, frozen=True, kw_only=True):
    """One pod of a job."""

    name: str
    role: str
    rank: int | None
    state: str
    node: str
    restarts: int


class ConditionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a job."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event about the job or what belongs to it."""

    time: str
    type: str
    object: str
    reason: str
    message: str


class JobDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One job with everything that explains its state; `reason` is the operator's."""

    job: JobRow
    namespace: str
    reason: str
    conditions: list[ConditionRow]
    pods: list[PodRow]
    events: list[EventRow]


async def list_jobs(client: KubeClient, namespace: str) -> list[JobRow]:
    """The jobs that dlf submitted in a namespace, "" for all, the newest first.

    Raises:
        Rejected: they may not be read.
    """
    jobs, (training, _), (volcano, _) = await asyncio.gather(
        dlf_jobs(client, namespace),
        client.list(POD, namespace, Pod, label_selector=TRAINING_LABEL),
        client.list(POD, namespace, Pod, label_selector=VOLCANO_JOB.job_label),
    )
    running = Counter(
        (label, pod.metadata.namespace, (pod.metadata.labels or {}).get(label, ""))
        for label, pods in ((TRAINING_LABEL, training), (VOLCANO_JOB.job_label, volcano))
        for pod in pods
        if _is_running(pod)
    )
    return [
        job_row((kind, job), running[kind.job_label, job.metadata.namespace, job.metadata.name])
        for kind, job in jobs
    ]


async def job_details(client: KubeClient, namespace: str, found: FoundJob) -> JobDetails:
    """All about one job. Events are left out where they may not be read.

    Raises:
        Rejected: its pods may not be read.
    """
    kind, job = found
    name = job.metadata.name
    (pods, _), events = await asyncio.gather(
        client.list(POD, namespace, Pod, label_selector=f"{kind.job_label}={name}"),
        _events(client, namespace, name),
    )
    state = job_state(job)
    conditions = (job.status.conditions if job.status else None) or ()
    return JobDetails(
        job=job_row(found, sum(map(_is_running, pods))),
        namespace=namespace,
        reason=": ".join(filter(None, (state.reason, state.message))),
        conditions=[
            ConditionRow(
                type=each.type,
                status=each.status,
                reason=each.reason or "",
                message=each.message or "",
                since=each.last_transition_time or "",
            )
            for each in conditions
            if each.type
        ],
        pods=sorted(_pod_rows(pods, roles_of(job)), key=_by_rank),
        events=events,
    )


def job_row(found: FoundJob, running: int) -> JobRow:
    """A job as one line."""
    kind, job = found
    state = "deleting" if job.metadata.deletion_timestamp else job_state(job).phase.value
    return JobRow(
        kind=kind.title,
        namespace=job.metadata.namespace,
        name=job.metadata.name,
        state=state,
        running=running,
        total=roles_of(job).pods,
        created=job.metadata.creation_timestamp,
        task=task_title(job.metadata.labels or {}, job.metadata.annotations or {}),
    )


def _is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running" and not pod.metadata.deletion_timestamp


def _pod_rows(pods: Iterable[Pod], roles: Roles) -> Iterable[PodRow]:
    for pod in pods:
        who = roles.identify(pod)
        yield PodRow(
            name=pod.metadata.name,
            role=who.role,
            rank=who.rank,
            state=describe_pod(pod),
            node=pod.spec.node_name or "",
            restarts=sum(each.restart_count for each in container_statuses(pod)),
        )


def _by_rank(pod: PodRow) -> tuple[int, str]:
    return (-1 if pod.rank is None else pod.rank), pod.name


async def _events(client: KubeClient, namespace: str, job: str) -> list[EventRow]:
    try:
        events, _ = await client.list(EVENT, namespace, Event)
    except Rejected:
        return []
    return event_rows(events, job)


def event_rows(events: Sequence[Event], job: str) -> list[EventRow]:
    """The newest events about a job and what its name begins the name of, oldest first."""
    about = [
        event
        for event in sorted(events, key=event_order)
        if f"{event.involved_object.name}-".startswith(f"{job}-")
    ]
    return [
        EventRow(
            time=event_time(event),
            type=event.type or "",
            object=event.involved_object.name,
            reason=event.reason or "",
            message=(event.message or "").strip(),
        )
        for event in about[-SHOWN_EVENTS:]
    ]
