"""Programs of the test cluster, built from the Go modules that ``tools/`` pins.

Each folder of ``tools/`` is one Go module: a go.mod with exact versions and a go.sum, no source. A
program is built on first use and kept in ``~/.cache/dlf/tools/<hash>/bin``, where the hash covers
everything that decides the result: the two files and the flags.
"""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "tools"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dlf"


@dataclass(frozen=True)
class Program:
    """One main package of a pinned module; ``build`` returns the path of its executable."""

    module: str
    """Folder in ``tools/``."""
    package: str
    """Import path of the main package."""
    name: str
    """File name of the executable."""

    def build(self) -> Path:
        """Return the executable, building it (minutes, when cold) if the cache lacks it.

        Raises:
            subprocess.CalledProcessError: the Go toolchain refused; its output is on stderr.
        """
        folder = MODULES / self.module
        flags = ["-trimpath", "-ldflags", f"-s -w {_version_stamp(folder)}".strip()]
        digest = hashlib.sha256(" ".join(flags).encode())
        for pinned in ("go.mod", "go.sum"):
            digest.update((folder / pinned).read_bytes())
        executable = CACHE / "tools" / digest.hexdigest()[:16] / "bin" / self.name
        if executable.exists():
            return executable
        executable.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=executable.parent) as scratch:
            built = Path(scratch) / self.name
            _go(folder, "build", *flags, "-o", str(built), self.package)
            built.replace(executable)  # whole or absent, also when two sessions build at once
        return executable


_KUBERNETES = "k8s.io/kubernetes/cmd"
_TRAINING = "github.com/kubeflow/training-operator/cmd/training-operator.v1"
_VOLCANO = "volcano.sh/volcano/cmd"

STERN = Program("stern", "github.com/stern/stern", "stern")
KUBECTL = Program("kubernetes", f"{_KUBERNETES}/kubectl", "kubectl")
ETCD = Program("kubernetes", "go.etcd.io/etcd/server/v3", "etcd")
APISERVER = Program("kubernetes", f"{_KUBERNETES}/kube-apiserver", "kube-apiserver")
CONTROLLERS = Program(
    "kubernetes", f"{_KUBERNETES}/kube-controller-manager", "kube-controller-manager"
)
SCHEDULER = Program("kubernetes", f"{_KUBERNETES}/kube-scheduler", "kube-scheduler")
KUBELET = Program("kubernetes", f"{_KUBERNETES}/kubelet", "kubelet")
TRAINING_OPERATOR_1_9 = Program("training-operator-1.9", _TRAINING, "training-operator")
TRAINING_OPERATOR_1_8 = Program("training-operator-1.8", _TRAINING, "training-operator")
MPI_OPERATOR = Program(
    "mpi-operator", "github.com/kubeflow/mpi-operator/cmd/mpi-operator", "mpi-operator"
)
VOLCANO_CONTROLLERS = Program("volcano", f"{_VOLCANO}/controller-manager", "vc-controller-manager")
VOLCANO_SCHEDULER = Program("volcano", f"{_VOLCANO}/scheduler", "vc-scheduler")
VOLCANO_WEBHOOKS = Program("volcano", f"{_VOLCANO}/webhook-manager", "vc-webhook-manager")

OF_CLUSTERS = (
    KUBECTL,
    ETCD,
    APISERVER,
    CONTROLLERS,
    SCHEDULER,
    KUBELET,
    TRAINING_OPERATOR_1_9,
    TRAINING_OPERATOR_1_8,
    MPI_OPERATOR,
    VOLCANO_CONTROLLERS,
    VOLCANO_SCHEDULER,
    VOLCANO_WEBHOOKS,
)
"""What the clusters of all tests run; stern is for the benchmarks."""
PROGRAMS = (STERN, *OF_CLUSTERS)


def module_source(module: str, path: str) -> Path:
    """Return the folder of Go module ``path``, at the version that ``tools/<module>`` pins.

    It is the module cache's own read-only copy: the operators ship their CRDs there.
    """
    downloaded = json.loads(_go(MODULES / module, "mod", "download", "-json", path))
    return Path(downloaded["Dir"])


def _version_stamp(folder: Path) -> str:
    """Return the linker flags by which Kubernetes programs know their own version."""
    pinned = re.search(r"k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+)", (folder / "go.mod").read_text())
    if pinned is None:
        return ""
    version, major, minor = pinned.groups()
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(
        f"-X k8s.io/{package}/version.{name}={value}"
        for package in ("component-base", "client-go/pkg")
        for name, value in values.items()
    )


def _go(folder: Path, *arguments: str) -> str:
    """Run the go command in ``folder``; at low priority, two compilers at a time."""
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false -p=2"}
    return subprocess.run(
        ["nice", "go", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
