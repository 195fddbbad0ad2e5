"""The registry of frameworks: a new one is a file of its own and one name in the list below.

The job kinds that dlf reads are those that some framework renders.
"""

from typing import TYPE_CHECKING

from dlf.frameworks import (
    colossalai,
    deepspeed,
    horovod,
    jax,
    megatron,
    mindformers,
    mindspore,
    mpi,
    mxnet,
    paddle,
    pytorch,
    tf,
)
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest
from dlf.manifest.phase import JobState

if TYPE_CHECKING:
    from dlf.manifest.observed import Job

BY_NAME: dict[str, Framework] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (
        tf,
        pytorch,
        paddle,
        jax,
        deepspeed,
        horovod,
        megatron,
        colossalai,
        mindspore,
        mindformers,
        mpi,
        mxnet,
    )
}


def job_kinds() -> tuple[JobKind, ...]:
    """Every job kind that some framework is rendered as, each once."""
    return tuple(dict.fromkeys(kind for each in BY_NAME.values() for kind in each.kinds))


def kind_of(resource: "Manifest | Job") -> JobKind:
    """The kind of a job that was rendered, or read from the API server.

    Raises:
        LookupError: dlf has no framework of this kind.
    """
    for kind in job_kinds():
        if (kind.api_version, kind.name) == (resource.api_version, resource.kind):
            return kind
    raise LookupError(f"{resource.api_version} {resource.kind}")


def job_state(job: "Job") -> JobState:
    """What the status of a job means: decided from the state that is there, never from a change."""
    from dlf.manifest.observed import JobStatus  # not needed to render a job

    return kind_of(job).state(job.status or JobStatus())
