"""`dlf mpi` with the training operator: the host's Open MPI, in pods, over `kubectl exec`."""

from pathlib import Path

import pytest

from dlf.errors import ExitCode

from .cluster import Cluster
from .image import WORKER_IMAGE, write_image
from .launch import launched
from .operators import KUBECTL_IMAGE
from .toolchain import KUBECTL
from .workspace import Workspace

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240, func_only=True)]

# Debian's openmpi-bin, without copying it and all its libraries into an image.
_OPEN_MPI = ";".join(
    f"{folder}(hostpath):{folder}" for folder in ("/usr", "/etc/alternatives", "/etc/openmpi")
)


@pytest.fixture
def kubectl_image(cluster: Cluster, tmp_path: Path) -> None:
    """What the operator's image does: copy kubectl into the launcher's volume."""
    archive = tmp_path / "kubectl.tar"
    command = ["/bin/busybox", "cp", "/bin/kubectl", "/opt/kube/kubectl"]
    files = {"/bin/busybox": Path("/bin/busybox"), "/bin/kubectl": KUBECTL.build()}
    write_image(archive, KUBECTL_IMAGE, command, files)
    cluster.import_image(archive)


@pytest.mark.usefixtures("kubectl_image")
def test_mpi_runs_the_command_once_a_slot(workspace: Workspace) -> None:
    """mpirun starts a process for each slot, on the workers, with the command as it was quoted."""
    script = "import os; print('rank', os.environ['OMPI_COMM_WORLD_RANK'], 'of two  blanks')"
    flags = ["--work_images", WORKER_IMAGE, "--num_worker", "2", "--working_dir", "/tmp"]
    command = f'python3 -c "{script}"'
    with launched(
        workspace, "mpi", *flags, "--command", command, KFJ_TASK_VOLUME_MOUNT=_OPEN_MPI
    ) as dlf:
        output, errors = dlf.communicate()
    assert dlf.returncode == ExitCode.SUCCEEDED, output + errors
    printed = [line.partition(" ")[2] for line in output.splitlines() if "blanks" in line]
    assert sorted(printed) == ["rank 0 of two  blanks", "rank 1 of two  blanks"]
