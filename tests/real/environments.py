"""Python environments with the real frameworks, made from the lists that ``requirements/`` pins.

A list names every package of an environment with its version, the framework first. An environment
is made on first use and kept in ``~/.cache/dlf/frameworks/<name>-<hash>``; the hash covers all that
decides the result: the list, what is built from source, the environment below, and the interpreter.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cluster.toolchain import CACHE

_LISTS = Path(__file__).parent / "requirements"
_DEBIAN_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Source:
    """A package of PyPI that is compiled against a framework which is already there."""

    requirement: str
    edits: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """File of the source: what it says, and what it has to say for today's compilers."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The build's environment."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    name: str
    """Its list in ``requirements/``; without one, Debian's Python with Debian's packages."""
    over: Environment | None = None
    """Whose packages it has as well."""
    sources: tuple[Source, ...] = ()

    @property
    def pinned(self) -> list[str]:
        """``name==version`` of each wheel."""
        listed = _LISTS / f"{self.name}.txt"
        return listed.read_text().split() if listed.exists() else []

    @property
    def path(self) -> str:
        """What PATH has to begin with."""
        return f"{self.build() / 'bin'}" + (f":{self.over.path}" if self.over else "")

    def build(self) -> Path:
        """Return its folder, made (minutes, when cold) if the cache lacks it.

        Raises:
            subprocess.CalledProcessError: pip or a compiler refused; its output is on stderr.
        """
        home = CACHE / "frameworks" / f"{self.name}-{self._digest()}"
        finished = home / "finished"
        if finished.exists():
            return home
        home.parent.mkdir(parents=True, exist_ok=True)
        with home.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                shutil.rmtree(home, ignore_errors=True)  # of a build that did not finish
                self._make(home)
                finished.touch()
        return home

    def _digest(self) -> str:
        version = sys.version if self.pinned else _DEBIAN_PYTHON
        decided_by = [version, self.pinned, self.sources, self.over and self.over._digest()]
        return hashlib.sha256(repr(decided_by).encode()).hexdigest()[:16]

    def _make(self, home: Path) -> None:
        debian = not self.pinned
        python = _DEBIAN_PYTHON if debian else sys.executable
        options = ["--without-pip", *(["--system-site-packages"] if debian else [])]
        _run(python, "-m", "venv", *options, home)
        if self.over:
            (_packages(home) / "over.pth").write_text(f"{_packages(self.over.build())}\n")
        if self.pinned:
            _pip(home, "--only-binary", ":all:", *self.pinned)
        for source in self.sources:
            _install(home, source)


def _install(home: Path, source: Source) -> None:
    """Build a package from source, with the compilers and libraries of this machine."""
    where = home / "source"
    options = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation")
    _pip_of(home, "download", *options, "-d", where, source.requirement)
    (archive,) = where.iterdir()
    shutil.unpack_archive(archive, where)
    (tree,) = (entry for entry in where.iterdir() if entry.is_dir())
    for name, (old, new) in source.edits.items():
        file = tree / name
        text = file.read_text()
        if old not in text:
            raise ValueError(f"{source.requirement}: {name} does not say {old!r}")
        file.write_text(text.replace(old, new))
    _pip(home, "--no-build-isolation", tree, **source.variables)
    shutil.rmtree(where)


def _pip(home: Path, *words: str | Path, **variables: str) -> None:
    """Install into an environment what is named, and nothing that it depends on."""
    _pip_of(home, "install", "--no-deps", *words, **variables)


def _pip_of(home: Path, command: str, *words: str | Path, **variables: str) -> None:
    python = str(home / "bin" / "python")
    _run(sys.executable, "-m", "pip", "--python", python, command, "--quiet", *words, **variables)


def _packages(home: Path) -> Path:
    (packages,) = home.glob("lib/python3.*/site-packages")
    return packages


def _run(*words: str | Path, **variables: str) -> None:
    """Run a command at low priority; what it prints goes to stderr."""
    environment = os.environ | variables
    subprocess.run(["nice", *map(str, words)], check=True, stdout=sys.stderr, env=environment)


TORCH_OF_DEBIAN = Environment("torch-debian")
MPI = Environment("mpi")
MXNET = Environment("mxnet")
PADDLE = Environment("paddle")
TENSORFLOW = Environment("tf")
JAX = Environment("jax")

TORCH = Environment("torch")
DEEPSPEED = Environment(
    "deepspeed",
    over=TORCH,
    sources=(
        Source(
            "deepspeed==0.19.8",
            variables={
                "DS_ACCELERATOR": "cpu",
                "DS_BUILD_OPS": "0",
                "DS_BUILD_SHM_COMM": "1",  # else the first job compiles it, minutes long
            },
        ),
    ),
)
MEGATRON = Environment("megatron", over=TORCH)
_TODAYS_CXX = ("set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 20)")  # torch 2.15 needs it
HOROVOD = Environment(
    "horovod",
    over=TORCH,
    sources=(
        Source(
            "horovod==0.28.1",
            edits={
                "CMakeLists.txt": _TODAYS_CXX,
                "horovod/torch/CMakeLists.txt": _TODAYS_CXX,
            },
            variables={
                "HOROVOD_WITH_PYTORCH": "1",
                "HOROVOD_WITH_MPI": "1",
                "HOROVOD_CPU_OPERATIONS": "MPI",
                "HOROVOD_WITHOUT_GLOO": "1",
                "HOROVOD_WITHOUT_TENSORFLOW": "1",
                "HOROVOD_WITHOUT_MXNET": "1",
            },
        ),
    ),
)
MINDSPORE = Environment("mindspore")

SMALL = (TORCH_OF_DEBIAN, MPI, MXNET, PADDLE, TENSORFLOW, JAX)
"""What every run of the tests uses."""
LARGE = (TORCH, DEEPSPEED, MEGATRON, MINDSPORE, HOROVOD)
"""What only `-m "real and large"` uses: gigabytes, or minutes of compiling."""
