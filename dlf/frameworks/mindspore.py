"""mindspore: a Volcano Job of equal workers, which find each other by the VC_* variables."""

from dlf.frameworks import _volcano
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def render(settings: Workers, kind: JobKind, suffix: str) -> Manifest:
    """Render a Volcano Job of equal workers."""
    name = _volcano.name("msjob", settings, suffix, {"worker": settings.num_worker})
    template = pod_template(settings, kind, name, "volcanojob", bash(settings.command))
    return _volcano.manifest(settings, kind, name, [("worker", settings.num_worker, template)])


FRAMEWORK = Framework(
    name="mindspore",
    settings=Workers,
    kinds=(VOLCANO_JOB,),
    render=render,
)
