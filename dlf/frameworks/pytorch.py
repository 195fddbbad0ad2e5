"""pytorch: a Kubeflow PyTorchJob of one Master and N-1 Workers."""

import shlex

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import with_prelude
from dlf.frameworks._torch import torchrun_env
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB, PyTorchJobSpec
from dlf.manifest.manifest import Manifest
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
    """What training-operator leaves to say.

    Up to 1.6 it sets RANK but not torchrun's PET_NODE_RANK. From 1.7 on it appends a
    PET_NPROC_PER_NODE of its own, `auto`, to the container's variables, and the last one counts;
    `auto` is a process per CPU where there is no GPU.
    """
    processes = (rendezvous | dict(settings.env))["PET_NPROC_PER_NODE"]
    return (
        f"export PET_NPROC_PER_NODE={shlex.quote(processes)}"
        ' PET_NODE_RANK="${PET_NODE_RANK:-$RANK}"'
    )


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a PyTorchJob in which NCCL uses eth0, the network of the pods."""
    return job(settings, kind, suffix, prefix="pytorchjob", env={"NCCL_SOCKET_IFNAME": "eth0"})


FRAMEWORK = Framework(
    name="pytorch",
    summary="PyTorch (Kubeflow PyTorchJob)",
    settings=Workers,
    kinds=(PYTORCHJOB,),
    render=render,
)
