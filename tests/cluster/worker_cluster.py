"""A cluster with Volcano and the images of the tests of `dlf worker`."""

import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .cluster import Cluster, running_cluster
from .image import write_image
from .launch import PROJECT
from .operators import Operator
from .volcano import VOLCANO

DLF, SCRATCH = "dlf.test/dlf:1", "dlf.test/scratch:1"
"""dlf's own image, and one whose only file is a static program."""
OPEN_MPI, OPEN_MPI_AS_USER = "dlf.test/openmpi:1", "dlf.test/openmpi-as-user:1"
"""What Open MPI needs outside of /usr, run as root and as user 1000."""
OPEN_MPI_VOLUMES = ";".join(
    f"{folder}(hostpath):{folder}" for folder in ("/usr", "/etc/alternatives", "/etc/openmpi")
)
"""Debian's openmpi-bin, without copying it and its libraries. No sshd runs in these pods."""


@contextmanager
def worker_cluster(
    request: pytest.FixtureRequest, folder: Path, operator: Operator = VOLCANO
) -> Iterator[Cluster]:
    """Start it, with the executable that `--binary` names, or this checkout's."""
    binary = request.config.getoption("--binary") or _built()
    links = {f"/{name}": f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
    texts = {
        "/etc/passwd": "root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/tmp:/bin/bash\n",
        "/etc/group": "root:x:0:\nuser:x:1000:\n",
    }
    archives = [folder / f"{number}.tar" for number in range(4)]
    write_image(archives[0], DLF, ["/usr/bin/dlf"], {"/usr/bin/dlf": binary})
    write_image(archives[1], SCRATCH, ["/busybox"], {"/busybox": Path("/bin/busybox")})
    for archive, name, user in (
        (archives[2], OPEN_MPI, ""),
        (archives[3], OPEN_MPI_AS_USER, "1000:1000"),
    ):
        write_image(archive, name, ["/bin/false"], {}, links, texts, user=user)
    with running_cluster(operator) as running:
        for archive in archives:
            running.import_image(archive)
        yield running


def _built() -> Path:
    """The executable of this checkout, which the init container copies; minutes, when changed."""
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    builder = PROJECT / "build/binary.py"
    subprocess.run([sys.executable, builder, "--arch", arch], check=True, stdout=subprocess.PIPE)
    return PROJECT / f"dist/dlf-linux-{arch}"
