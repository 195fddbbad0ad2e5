"""deepspeed: a Volcano Job of equal workers; worker 0 is the master."""

from dlf.frameworks import _volcano_torch
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a Volcano Job of equal workers."""
    return _volcano_torch.job(settings, kind, suffix, "deepspeed", {"worker": settings.num_worker})


FRAMEWORK = Framework(
    name="deepspeed",
    settings=Workers,
    kinds=(VOLCANO_JOB,),
    render=render,
    leader="worker",
)
