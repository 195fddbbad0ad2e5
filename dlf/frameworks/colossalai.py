"""colossalai: a Volcano Job of equal workers; worker 0 is the master."""

from typing import Annotated

from dlf.frameworks import _volcano_torch
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import Workers


class ColossalAISettings(Workers, frozen=True, kw_only=True):
    """The flags of colossalai, with the old launcher's defaults."""

    image: Annotated[
        str,
        Flag("image of the workers", scalars.image, metavar="IMAGE", name="work_images"),
    ] = "hpcaitech/colossalai:0.3.0"
    working_dir: str = "/mnt/admin/pipeline/example/colossalai/"
    command: str = "bash start.sh"
    num_worker: int = 2


def render(settings: ColossalAISettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a Volcano Job of equal workers."""
    return _volcano_torch.job(settings, kind, suffix, "colossalai", {"worker": settings.num_worker})


FRAMEWORK = Framework(
    name="colossalai",
    settings=ColossalAISettings,
    kinds=(VOLCANO_JOB,),
    render=render,
    leader="worker",
)
