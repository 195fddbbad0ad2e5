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
from pathlib import Path

import extensions
import interpreter
import libraries
import link
import needs
import sources
import translate
from interpreter import BUILD_CPU
from stage import BuildFailed, Workshop
from toolchain import TARGETS, Toolchain

CHECKOUT = Path(__file__).parent.parent


def build(workshop: Workshop, cpus: list[str], revision: str) -> dict[str, Path]:
    """Return the executable of each CPU."""
    source = sources.fetch(workshop)
    toolchain = Toolchain(workshop, source["ziglang"])
    build_python: Path | None = None
    parts: dict[str, tuple[Path, Path, Path]] = {}
    for cpu in dict.fromkeys([BUILD_CPU, *cpus]):
        library = libraries.build(workshop, toolchain, source, cpu)
        python = interpreter.build(
            workshop, toolchain, source["python3.13"], library, build_python, cpu
        )
        build_python = build_python or python
        extension = extensions.build(workshop, toolchain, source["msgspec"], python, cpu)
        parts[cpu] = (library, python, extension)
    translated = translate.build(workshop, source, parts[BUILD_CPU][1], CHECKOUT / "dlf", revision)
    nuitka = source["nuitka"]
    return {
        cpu: link.build(workshop, toolchain, nuitka, translated, parts[cpu], cpu) / "dlf"
        for cpu in cpus
    }


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
