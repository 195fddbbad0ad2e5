"""The cross compiler: zig's clang and its musl, one wrapper script for each CPU."""

import os
from pathlib import Path

from stage import Bench, Workshop

TARGETS = {"amd64": "x86_64", "arm64": "aarch64"}

_FLAGS = [
    "-static",
    "-O2",  # one level for all links: zig compiles its libc anew for each; a later -Os still counts
    "-g0",
    "-ffunction-sections",  # the linker drops what nothing calls
    "-fdata-sections",
    "-fno-asynchronous-unwind-tables",  # nothing unwinds C frames
    "-fno-unwind-tables",
    "-fno-sanitize=undefined",  # on by default in zig; CPython and OpenSSL trap on it
]


class Toolchain:
    """The compilers `cc-<cpu>` and the archiver, to be called by name with `environment()`.

    By name, because CPython and OpenSSL store the compiler's command in what they build.
    """

    def __init__(self, workshop: Workshop, zig: Path) -> None:
        program = zig / "ziglang/zig"

        def work(bench: Bench) -> None:
            program.chmod(0o755)  # zipfile drops the mode
            for cpu in TARGETS.values():
                command = f"{program} cc -target {cpu}-linux-musl {' '.join(_FLAGS)}"
                _script(bench.out / f"cc-{cpu}", command)
            for tool in ("ar", "ranlib"):
                _script(bench.out / f"zig-{tool}", f"{program} {tool}")

        self._bin = workshop.make("toolchain", [str(zig), *_FLAGS, Path(__file__)], work)
        self._cache = str(workshop.cache / "zig")
        self.id = f"{zig.name} {_FLAGS}"  # what decides the result; where it lies does not

    def environment(self) -> dict[str, str]:
        """Return the variables a command needs to find and run the wrappers."""
        return {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "AR": "zig-ar",
            "RANLIB": "zig-ranlib",
            "ZIG_GLOBAL_CACHE_DIR": self._cache,
            "ZIG_LOCAL_CACHE_DIR": self._cache,
        }


def _script(file: Path, command: str) -> None:
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o755)
