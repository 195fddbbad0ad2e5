"""paddle: a Kubeflow PaddleJob of workers and, if asked for, parameter servers."""

from typing import Annotated

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash, with_prelude
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind, Replica
from dlf.manifest.jobs.kubeflow import REPLICA_INDEX_FIELD
from dlf.manifest.jobs.paddlejob import PADDLEJOB, PaddleElasticPolicy, PaddleJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import ContainerPort
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers

_PORT = ContainerPort(name="master", container_port=36543)  # where the operator looks for it

_INDEX, _POD = "DLF_REPLICA_INDEX", "DLF_POD_NAME"


class PaddleSettings(Workers, frozen=True, kw_only=True):
    """The flags of paddle."""

    num_ps: Annotated[int, Flag("parameter servers", scalars.count(0), metavar="N")] = 0


def _command(command: str, first_rank: int) -> list[str]:
    """The command, after the variables that tell paddle.distributed.launch which pod this is.

    Without PADDLE_RANK the launchers are ranked by the order of random names. Log files go to a
    directory of the pod's own, since pods may share their working directory. The launcher lets its
    variables win over its flags, so a flag that is in the command is left alone; `--env` wins too.
    """
    rank = f'PADDLE_RANK="${{PADDLE_RANK:-$(({first_rank} + {_INDEX}))}}"'
    directory = f'PADDLE_LOG_DIR="${{PADDLE_LOG_DIR:-log/${_POD}}}"'
    exports = [
        f"export {assignment}"
        for flag, assignment in (("--rank", rank), ("--log_dir", directory))
        if flag not in command
    ]
    return with_prelude("; ".join(exports), command) if exports else bash(command)


def render(settings: PaddleSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a PaddleJob: workers only (collective), or with parameter servers as role Master."""
    roles = _kubeflow.with_replicas({"Master": settings.num_ps, "Worker": settings.num_worker})
    name = _kubeflow.name("paddlejob", settings, suffix, roles)
    templates = {
        role: pod_template(
            settings,
            kind,
            name,
            "paddle",
            _command(settings.command, Replica(name, roles, role, 0).rank),
            ports=[_PORT],
            fields={_INDEX: REPLICA_INDEX_FIELD, _POD: "metadata.name"},
        )
        for role in roles
    }
    spec = PaddleJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        elastic_policy=PaddleElasticPolicy(
            min_replicas=settings.num_worker, max_replicas=settings.num_worker, max_restarts=0
        ),
        paddle_replica_specs={
            role: _kubeflow.replica(settings, count, templates[role])
            for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="paddle",
    settings=PaddleSettings,
    kinds=(PADDLEJOB,),
    render=render,
)
