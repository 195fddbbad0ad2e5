"""mindspore: a Volcano Job of equal workers, which find each other by the VC_* variables."""

from dlf.frameworks import _volcano
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks.framework import Framework
from dlf.manifest.kinds import VOLCANO_JOB, Kind
from dlf.manifest.manifest import Manifest
from dlf.task.settings import Workers


def render(task: Workers, kind: Kind, suffix: str) -> Manifest:
    """The resource."""
    name = _volcano.name("msjob", task, suffix, {"worker": task.num_worker})
    template = pod_template(task, kind, name, "volcanojob", bash(task.command))
    return _volcano.manifest(task, kind, name, [("worker", task.num_worker, template)])


FRAMEWORK = Framework(
    name="mindspore",
    summary="MindSpore (Volcano Job)",
    settings=Workers,
    kinds=(VOLCANO_JOB,),
    render=render,
)
