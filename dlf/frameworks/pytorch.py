"""pytorch: a Kubeflow PyTorchJob of one Master and N-1 Workers, or, elastic, of Workers alone."""

import shlex
from typing import Annotated

from dlf.errors import UsageError
from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template, processes_per_pod
from dlf.frameworks._shell import with_prelude
from dlf.frameworks._torch import torchrun_env
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB, ElasticPolicy, PyTorchJobSpec
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers


def job(
    settings: Workers, kind: JobKind, suffix: str, *, prefix: str, env: dict[str, str]
) -> Manifest:
    """A PyTorchJob: the Master is rank 0 and counts as one of the workers.

    Master replicas are written as 1, which training-operator 1.8 demands, and a single worker has
    no Worker entry, which 1.9 would reject.
    """
    roles = _kubeflow.with_replicas({"Master": 1, "Worker": settings.num_worker - 1})
    name = _kubeflow.name(prefix, settings, suffix, roles)
    rendezvous = torchrun_env(settings, settings.num_worker, f"{name}-master-0")
    command = with_prelude(_prelude(settings, rendezvous), settings.command)
    template = pod_template(settings, kind, name, "pytorch", command, env=env | rendezvous)
    spec = PyTorchJobSpec(
        run_policy=_kubeflow.run_policy(settings, roles),
        pytorch_replica_specs={
            role: _kubeflow.replica(settings, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


def _prelude(settings: Workers, rendezvous: dict[str, str]) -> str:
    """The variables that training-operator does not set, or sets wrongly.

    Up to 1.6 it sets RANK but not torchrun's PET_NODE_RANK. From 1.7 on it appends a
    PET_NPROC_PER_NODE of its own, `auto`, to the container's variables, and the last one counts;
    `auto` is a process per CPU where there is no GPU.
    """
    processes = (rendezvous | dict(settings.env))["PET_NPROC_PER_NODE"]
    return (
        f"export PET_NPROC_PER_NODE={shlex.quote(processes)}"
        ' PET_NODE_RANK="${PET_NODE_RANK:-$RANK}"'
    )


class PyTorchSettings(Workers, frozen=True, kw_only=True):
    """The flags of pytorch."""

    min_worker: Annotated[
        int | None,
        Flag(
            "elastic: torchrun starts, and goes on, with this many workers or more",
            scalars.count(1),
            metavar="N",
        ),
    ] = None
    max_worker: Annotated[
        int | None,
        Flag("elastic: torchrun takes at most this many workers", scalars.count(1), metavar="N"),
    ] = None


def render(settings: PyTorchSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a PyTorchJob in which NCCL uses eth0, the network of the pods.

    Raises:
        UsageError: the number of workers is not between the elastic limits.
    """
    env = {"NCCL_SOCKET_IFNAME": "eth0"}
    if settings.min_worker or settings.max_worker:
        return _elastic(settings, kind, suffix, env)
    return job(settings, kind, suffix, prefix="pytorchjob", env=env)


def _elastic(
    settings: PyTorchSettings, kind: JobKind, suffix: str, env: dict[str, str]
) -> Manifest:
    """Workers that meet at worker 0; the operator says where by PET_RDZV_*, and how many."""
    count = settings.num_worker
    least, most = settings.min_worker or count, settings.max_worker or count
    if not least <= count <= most:
        raise UsageError(
            f"--num_worker={count} is not between --min_worker={least} and --max_worker={most}",
            "write a number of workers to begin with that is",
        )
    name = _kubeflow.name("pytorchjob", settings, suffix, {"Worker": count})
    processes = "auto" if settings.gpu.count == -1 else str(processes_per_pod(settings))
    env |= {"PET_NPROC_PER_NODE": processes}
    chosen = (env | dict(settings.env))["PET_NPROC_PER_NODE"]
    prelude = f"export PET_NPROC_PER_NODE={shlex.quote(chosen)}"
    command = with_prelude(prelude, settings.command)
    template = pod_template(settings, kind, name, "pytorch", command, env=env)
    spec = PyTorchJobSpec(
        run_policy=_kubeflow.run_policy(settings, {"Worker": count}),
        elastic_policy=ElasticPolicy(
            min_replicas=least,
            max_replicas=most,
            max_restarts=settings.max_retry,
            rdzv_backend="c10d",
            rdzv_id=name,
        ),
        pytorch_replica_specs={"Worker": _kubeflow.replica(settings, count, template)},
    )
    return _kubeflow.manifest(settings, kind, name, spec)


FRAMEWORK = Framework(
    name="pytorch",
    settings=PyTorchSettings,
    kinds=(PYTORCHJOB,),
    render=render,
)
