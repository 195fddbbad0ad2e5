"""mpi: an MPIJob for anything that mpirun starts."""

from dlf.frameworks import _mpi
from dlf.frameworks.framework import Framework
from dlf.manifest.kinds import Kind
from dlf.manifest.manifest import Manifest


class Settings(_mpi.Settings, frozen=True, kw_only=True):
    """The flags of mpi, with the old launcher's defaults."""

    image: str = "horovod/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.5.0-py3.7-cpu"
    working_dir: str = "/mnt/admin"
    command: str = "python /examples/tensorflow2_mnist.py"


def render(task: Settings, kind: Kind, suffix: str) -> Manifest:
    """The resource."""
    return _mpi.job(task, kind, suffix, "mpijob")


FRAMEWORK = Framework(
    name="mpi",
    summary="MPI (Kubeflow MPIJob)",
    settings=Settings,
    kinds=_mpi.KINDS,
    render=render,
)
