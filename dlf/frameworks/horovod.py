"""horovod: an MPIJob whose ranks are Horovod processes."""

from dlf.frameworks import _mpi
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest


class HorovodSettings(_mpi.MPIJobSettings, frozen=True, kw_only=True):
    """The flags of horovod, with the old launcher's defaults."""

    image: str = "ccr.ccs.tencentyun.com/cube-studio/horovod:20210401"
    working_dir: str = "/mnt/admin"


def render(settings: HorovodSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render an MPIJob."""
    return _mpi.job(settings, kind, suffix, "horovod")


FRAMEWORK = Framework(
    name="horovod",
    settings=HorovodSettings,
    kinds=_mpi.KINDS,
    render=render,
)
