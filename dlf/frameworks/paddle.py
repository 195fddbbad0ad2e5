"""paddle: a Kubeflow PaddleJob of workers and, if asked for, parameter servers."""

from typing import Annotated

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.kinds import PADDLEJOB, Kind
from dlf.manifest.kubeflow import ElasticPolicy, PaddleJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import ContainerPort
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers

_PORT = ContainerPort(name="master", container_port=36543)  # where the operator looks for it


class Settings(Workers, frozen=True, kw_only=True):
    """The flags of paddle."""

    num_ps: Annotated[int, Flag("parameter servers", scalars.count(0), metavar="N")] = 0


def render(task: Settings, kind: Kind, suffix: str) -> Manifest:
    """The resource: collective training with workers only, parameter servers as role Master."""
    roles = _kubeflow.present({"Master": task.num_ps, "Worker": task.num_worker})
    name = _kubeflow.name("paddlejob", task, suffix, roles)
    template = pod_template(task, kind, name, "paddle", bash(task.command), ports=[_PORT])
    spec = PaddleJobSpec(
        run_policy=_kubeflow.run_policy(task, roles),
        elastic_policy=ElasticPolicy(
            min_replicas=task.num_worker, max_replicas=task.num_worker, max_restarts=0
        ),
        paddle_replica_specs={
            role: _kubeflow.replica(task, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(task, kind, name, spec)


FRAMEWORK = Framework(
    name="paddle",
    summary="PaddlePaddle (Kubeflow PaddleJob)",
    settings=Settings,
    kinds=(PADDLEJOB,),
    render=render,
)
