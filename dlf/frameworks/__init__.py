"""The registry of frameworks: a new one is a file of its own and one line in the table below.

The job kinds that dlf reads are those that some framework renders.
"""

import functools
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dlf.frameworks.framework import Framework
    from dlf.manifest.jobs.kind import JobKind
    from dlf.manifest.manifest import Manifest
    from dlf.manifest.observed import Job
    from dlf.manifest.phase import JobState

SUMMARIES = {
    "tf": "TensorFlow (Kubeflow TFJob)",
    "pytorch": "PyTorch (Kubeflow PyTorchJob)",
    "paddle": "PaddlePaddle (Kubeflow PaddleJob)",
    "jax": "JAX (Kubeflow JAXJob, training-operator 1.9 or later)",
    "deepspeed": "DeepSpeed (Volcano Job; worker 0 decides)",
    "horovod": "Horovod (Kubeflow MPIJob)",
    "megatron": "Megatron-LM (Volcano Job with roles)",
    "colossalai": "ColossalAI (Volcano Job; worker 0 decides)",
    "mindspore": "MindSpore (Volcano Job)",
    "mindformers": "MindFormers by msrun (Kubeflow PyTorchJob)",
    "mpi": "MPI (Kubeflow MPIJob)",
    "mxnet": "MXNet (Kubeflow MXJob, or a Volcano Job where that is not served)",
}
"""Each framework, in the order of `dlf --help`, with its line there."""


def load_framework(name: str) -> "Framework":
    """The framework of this name. Its module is imported now: a task needs one of them.

    Raises:
        LookupError: there is none.
    """
    if name not in SUMMARIES:
        raise LookupError(name)
    framework: Framework = importlib.import_module(f"dlf.frameworks.{name}").FRAMEWORK
    return framework


@functools.cache
def job_kinds() -> "tuple[JobKind, ...]":
    """Every job kind that some framework is rendered as, each once."""
    return tuple(dict.fromkeys(kind for name in SUMMARIES for kind in load_framework(name).kinds))


def kind_of(resource: "Manifest | Job") -> "JobKind":
    """The kind of a job that was rendered, or read from the API server.

    Raises:
        LookupError: dlf has no framework of this kind.
    """
    for kind in job_kinds():
        if (kind.api_version, kind.name) == (resource.api_version, resource.kind):
            return kind
    raise LookupError(f"{resource.api_version} {resource.kind}")


def job_state(job: "Job") -> "JobState":
    """What the status of a job means: decided from the state that is there, never from a change."""
    from dlf.manifest.observed import JobStatus  # not needed to render a job

    return kind_of(job).state(job.status or JobStatus())
