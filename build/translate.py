"""Nuitka: from Python to C, once for all CPUs."""

import shutil
from pathlib import Path

from interpreter import VERSION
from sources import TRIM
from stage import Bench, Workshop

TOOLS = Path(__file__).with_name("translate")
DEPENDENCIES = [
    "httpx",
    "h11",
    "idna",
    "msgspec",
    "pyyaml",
]

# Imported where Nuitka cannot see it: by CPython's C (strptime, printing an error, int() of many
# digits, decimal) and msgspec's, and codecs by their name (a host name in TLS).
IMPORTED_UNSEEN = [
    *("datetime", "decimal", "enum", "uuid"),
    *("_strptime", "traceback", "linecache", "_pylong", "numbers"),
    *("encodings.idna", "encodings.punycode"),
]

_OPTIONS = [
    "--mode=standalone",
    "--static-libpython=yes",
    "--clang",
    "--disable-ccache",
    "--lto=no",
    # isolated: no PYTHON* variable and no file of the image changes what the program does.
    "--python-flag=no_site,isolated,no_docstrings,no_asserts",
    "--disable-plugin=multiprocessing",  # always on, and includes multiprocessing
    "--include-package=dlf",
    *(f"--include-module={name}" for name in IMPORTED_UNSEEN),
    # Else it refuses any command line with a `-c` in it, such as `dlf worker -- sh -c COMMAND`.
    "--no-deployment-flag=self-execution",
]


# What `dlf version` tells. One translation serves all CPUs, so the CPU is asked when it runs.
_BUILD_MODULE = """
import os

REVISION = {revision!r}
TARGET = "linux-" + {{"x86_64": "amd64", "aarch64": "arm64"}}[os.uname().machine]
"""


def build(
    workshop: Workshop, python: Path, package: Path, revision: str, nuitka: Path, *modules: Path
) -> Path:
    """Return a directory with c/, headers/, and calls: the compiler calls Nuitka would have made.

    `package` is the directory dlf/ of a checkout, `revision` its commit, `modules` the sources of
    DEPENDENCIES.
    """
    # What Nuitka found in modules kept as bytecode; it takes most of the time to find out.
    known = workshop.cache / f"nuitka-{python.name}"
    left_out = [name for group in TRIM["translate"].values() for name in group]

    def work(bench: Bench) -> None:
        site = bench.scratch / "modules"
        for module in modules:
            _copy_python(_packages(module), site)
        _copy_python(package, site / "dlf")
        (site / "dlf/_build.py").write_text(_BUILD_MODULE.format(revision=revision))
        _copy_python(TOOLS / "modules", site)  # in place of what dlf makes no use of
        # Nuitka's parts start each other with a search path of their own, so the stand-ins are put
        # into the standard library of a copy of the interpreter.
        own_python = bench.scratch / "python"
        bench.run("cp", "-a", python, own_python)
        _copy_python(TOOLS / "stand_ins", own_python / "lib" / f"python{VERSION}")
        tools = bench.scratch / "tools"
        tools.mkdir()
        for compiler in ("fake-clang", "fake-clang++"):
            shutil.copy(TOOLS / "fake-clang", tools / compiler)
        env = {
            "PYTHONPATH": f"{nuitka}:{site}",
            "PYTHONHASHSEED": "0",
            "CC": f"{tools}/fake-clang",
            "CXX": f"{tools}/fake-clang++",
            "FAKE_CLANG_LOG": f"{bench.out}/calls",
            "NUITKA_CACHE_DIR": str(known),
        }
        bench.run(
            own_python / "bin" / f"python{VERSION}",
            *("-m", "nuitka"),
            *_OPTIONS,
            f"--jobs={bench.jobs}",
            f"--user-plugin={TOOLS}/nuitka_plugin.py",
            f"--nofollow-import-to={','.join(left_out)}",
            f"--output-dir={bench.scratch}/made",
            f"--report={bench.out}/report.xml",
            TOOLS / "entry.py",
            env=env,
        )
        shutil.copytree(bench.scratch / "made/entry.build", bench.out / "c")
        headers = next((known / "adapted_headers").iterdir())
        shutil.copytree(headers, bench.out / "headers")

    made_of = [python.name, nuitka.name, *(module.name for module in modules)]
    made_of += [revision, repr(left_out)]
    return workshop.make("translated", [*made_of, package, TOOLS, Path(__file__)], work)


def _packages(source: Path) -> Path:
    """Return the folder with a dependency's packages: src/ in an sdist, all of it in a wheel."""
    folder = source / "src"
    return folder if folder.is_dir() else source


def _copy_python(source: Path, target: Path) -> None:
    for file in source.rglob("*.py"):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
