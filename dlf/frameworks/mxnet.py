"""mxnet: scheduler, servers and workers of ps-lite, as a Kubeflow MXJob or as a Volcano Job.

training-operator 1.9 removed MXJob, so a cluster may serve only Volcano.
"""

from typing import Annotated

from dlf.frameworks import _kubeflow, _volcano
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash, with_prelude
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import UNRANKED_ROLES, JobKind
from dlf.manifest.jobs.mxjob import MXJOB, MXJobSpec
from dlf.manifest.jobs.volcano import VOLCANO_JOB, LifecyclePolicy
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers

_PORT = 9091  # training-operator's default port of an MXJob
_WORKER_ID = 'export DMLC_WORKER_ID="${DMLC_WORKER_ID:-$VC_TASK_INDEX}"'
_UNRANKED = {UNRANKED_ROLES: "scheduler,server"}


class MXNetSettings(Workers, frozen=True, kw_only=True):
    """The flags of mxnet."""

    num_ps: Annotated[int, Flag("servers", scalars.count(0), metavar="N")] = 0


def render(settings: MXNetSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render an MXJob or a Volcano Job; all roles run one command, and ps-lite tells them apart."""
    roles = _kubeflow.with_replicas(
        {"Scheduler": 1, "Server": settings.num_ps, "Worker": settings.num_worker}
    )
    if kind == VOLCANO_JOB:
        return _on_volcano(settings, kind, suffix, {role.lower(): n for role, n in roles.items()})
    name = _kubeflow.name("mxjob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "mxnet", bash(settings.command))
    spec = MXJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        job_mode="MXTrain",
        mx_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


def _on_volcano(
    settings: MXNetSettings, kind: JobKind, suffix: str, roles: dict[str, int]
) -> Manifest:
    """The same roles, with the DMLC_* variables that training-operator would set.

    The job is complete when all workers are: servers and scheduler may outlive them.
    """
    name = _volcano.name("mxjob", settings, suffix, roles)
    env = {
        "DMLC_PS_ROOT_URI": _volcano.host(name, "scheduler"),
        "DMLC_PS_ROOT_PORT": str(_PORT),
        "DMLC_NUM_SERVER": str(settings.num_ps),
        "DMLC_NUM_WORKER": str(settings.num_worker),
        "DMLC_USE_KUBERNETES": "1",
    }
    commands = {"worker": with_prelude(_WORKER_ID, settings.command)}
    tasks = [
        (
            role,
            count,
            pod_template(
                settings,
                kind,
                name,
                "mxnet",
                commands.get(role, bash(settings.command)),
                env=env | {"DMLC_ROLE": role},
            ),
        )
        for role, count in roles.items()
    ]
    done = LifecyclePolicy(event="TaskCompleted", action="CompleteJob")
    return _volcano.manifest(
        settings, kind, name, tasks, policies={"worker": [done]}, annotations=_UNRANKED
    )


FRAMEWORK = Framework(
    name="mxnet",
    settings=MXNetSettings,
    kinds=(MXJOB, VOLCANO_JOB),
    render=render,
)
