"""pytorch: a Kubeflow PyTorchJob of one Master and N-1 Workers."""

import shlex

from dlf.frameworks import _kubeflow
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import with_prelude
from dlf.frameworks._torch import torchrun_env
from dlf.frameworks.framework import Framework
from dlf.manifest.kinds import PYTORCHJOB, Kind
from dlf.manifest.kubeflow import PyTorchJobSpec
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def job(task: Workers, kind: Kind, suffix: str, *, prefix: str, env: dict[str, str]) -> Manifest:
    """A PyTorchJob: the Master is rank 0 and counts as one of the workers.

    Master replicas are written as 1, which training-operator 1.8 demands, and a single worker has
    no Worker entry, which 1.9 would reject.
    """
    roles = _kubeflow.present({"Master": 1, "Worker": task.num_worker - 1})
    name = _kubeflow.name(prefix, task, suffix, roles)
    rendezvous = torchrun_env(task, task.num_worker, f"{name}-master-0")
    command = with_prelude(_prelude(task, rendezvous), task.command)
    template = pod_template(task, kind, name, "pytorch", command, env=env | rendezvous)
    spec = PyTorchJobSpec(
        run_policy=_kubeflow.run_policy(task, roles),
        pytorch_replica_specs={
            role: _kubeflow.replica(task, count, template) for role, count in roles.items()
        },
    )
    return _kubeflow.manifest(task, kind, name, spec)


def _prelude(task: Workers, rendezvous: dict[str, str]) -> str:
    """What training-operator leaves to say.

    Up to 1.6 it sets RANK but not torchrun's PET_NODE_RANK. From 1.7 on it appends a
    PET_NPROC_PER_NODE of its own, `auto`, to the container's variables, and the last one counts;
    `auto` is a process per CPU where there is no card.
    """
    processes = (rendezvous | dict(task.env))["PET_NPROC_PER_NODE"]
    return (
        f"export PET_NPROC_PER_NODE={shlex.quote(processes)}"
        ' PET_NODE_RANK="${PET_NODE_RANK:-$RANK}"'
    )


def render(task: Workers, kind: Kind, suffix: str) -> Manifest:
    """The resource; NCCL is told the network of the pods, as the platform's users know it."""
    return job(task, kind, suffix, prefix="pytorchjob", env={"NCCL_SOCKET_IFNAME": "eth0"})


FRAMEWORK = Framework(
    name="pytorch",
    summary="PyTorch (Kubeflow PyTorchJob)",
    settings=Workers,
    kinds=(PYTORCHJOB,),
    render=render,
)
