"""Build the static executables dist/dlf-linux-amd64 and dist/dlf-linux-arm64.

Stages, each cached under ~/.cache/dlf by the hash of what it is made of: (1) zlib, OpenSSL and
CPython as static libraries, per CPU; (2) C extensions, per CPU; (3) Nuitka, from Python to C, once;
(4) compile and link, per CPU.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import extensions
import interpreter
import libraries
import link
import needs
import sources
import translate
from graph import Graph
from interpreter import BUILD_CPU
from stage import BuildFailed, Workshop
from toolchain import TARGETS, Toolchain

CHECKOUT = Path(__file__).parent.parent


def build(workshop: Workshop, cpus: list[str], revision: str) -> dict[str, Path]:
    """Return the executable of each CPU."""
    # Nuitka waits for the build machine's interpreter, so what is for the other CPU gives way.
    shops = {BUILD_CPU: workshop} | {
        cpu: replace(workshop, nice=10) for cpu in cpus if cpu != BUILD_CPU
    }
    parts: dict[str, tuple[Future[Any], ...]] = {}
    build_python: Future[Path] | None = None
    with Graph(stop=workshop.commands.stop) as graph:
        source = sources.fetch(graph, workshop)
        for cpu, shop in shops.items():
            toolchain = graph.call(Toolchain, shop, source["ziglang"], cpu)
            library = graph.call(
                libraries.build, shop, toolchain, source["zlib"], source["openssl"]
            )
            python = graph.call(
                interpreter.build, shop, toolchain, source["python3.13"], library, build_python
            )
            build_python = build_python or python
            extension = graph.call(extensions.build, shop, toolchain, source["msgspec"], python)
            parts[cpu] = (toolchain, library, python, extension)
        translated = graph.call(
            translate.build,
            workshop,
            build_python,
            CHECKOUT / "dlf",
            revision,
            source["nuitka"],
            *(source[name] for name in translate.DEPENDENCIES),
        )
        programs = {
            cpu: graph.call(link.build, shops[cpu], source["nuitka"], translated, *parts[cpu])
            for cpu in cpus
        }
    return {cpu: program.result() / "dlf" for cpu, program in programs.items()}


def _revision() -> str:
    """Return the commit of this checkout, or nothing when it has no git."""
    command = ["git", "-C", str(CHECKOUT), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def main() -> int:
    """Parse the command line, build, and copy to dist/."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--arch", choices=TARGETS, action="append", help="may be repeated (default: both)")
    add("--jobs", type=int, default=os.cpu_count(), help="compilers at once (default: cores)")
    add("--cache", type=Path, default="~/.cache/dlf", help="default: ~/.cache/dlf")
    add("--dist", type=Path, default=CHECKOUT / "dist", help="default: dist/ of this checkout")
    add("--revision", default=_revision(), help="default: the commit of this checkout")
    arguments = parser.parse_args()
    architectures: list[str] = arguments.arch or list(TARGETS)
    cache = arguments.cache.expanduser().absolute()
    cache.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    try:
        needs.install()
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two builds would share scratch directories
            cpus = [TARGETS[name] for name in architectures]
            made = build(Workshop(cache, arguments.jobs), cpus, arguments.revision)
    except BuildFailed as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    arguments.dist.mkdir(exist_ok=True)
    for name in architectures:
        target = arguments.dist / f"dlf-linux-{name}"
        shutil.copy(made[TARGETS[name]], target)
        target.chmod(0o755)
        print(f"{target}  {target.stat().st_size / 1e6:.1f} MB")
    print(f"done in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
