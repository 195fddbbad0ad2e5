"""mpi: an MPIJob for anything that mpirun starts."""

from dlf.frameworks import _mpi
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest


class MPISettings(_mpi.MPIJobSettings, frozen=True, kw_only=True):
    """The flags of mpi, with the old launcher's defaults."""

    image: str = "horovod/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.5.0-py3.7-cpu"
    working_dir: str = "/mnt/admin"
    command: str = "python /examples/tensorflow2_mnist.py"


def render(settings: MPISettings, kind: JobKind, suffix: str) -> Manifest:
    """Render an MPIJob."""
    return _mpi.job(settings, kind, suffix, "mpijob")


FRAMEWORK = Framework(
    name="mpi",
    settings=MPISettings,
    kinds=_mpi.KINDS,
    render=render,
)
