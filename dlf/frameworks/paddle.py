"""paddle: a Kubeflow PaddleJob of workers and, if asked for, parameter servers."""

from typing import Annotated

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.paddlejob import PADDLEJOB, ElasticPolicy, PaddleJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import ContainerPort
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers

_PORT = ContainerPort(name="master", container_port=36543)  # where the operator looks for it


class PaddleSettings(Workers, frozen=True, kw_only=True):
    """The flags of paddle."""

    num_ps: Annotated[int, Flag("parameter servers", scalars.count(0), metavar="N")] = 0


def render(settings: PaddleSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a PaddleJob: workers only (collective), or with parameter servers as role Master."""
    roles = _kubeflow.with_replicas({"Master": settings.num_ps, "Worker": settings.num_worker})
    name = _kubeflow.name("paddlejob", settings, suffix, roles)
    template = pod_template(settings, kind, name, "paddle", bash(settings.command), ports=[_PORT])
    spec = PaddleJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        elastic_policy=ElasticPolicy(
            min_replicas=settings.num_worker, max_replicas=settings.num_worker, max_restarts=0
        ),
        paddle_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="paddle",
    summary="PaddlePaddle (Kubeflow PaddleJob)",
    settings=PaddleSettings,
    kinds=(PADDLEJOB,),
    render=render,
)
