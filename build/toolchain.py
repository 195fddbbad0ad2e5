"""The cross compiler: zig's clang and lld with zig's musl, a wrapper script for each CPU."""

import os
import shutil
from pathlib import Path

from stage import Bench, Workshop

TARGETS = {"amd64": "x86_64", "arm64": "aarch64"}

_FLAGS = [
    "-static",
    "-fno-pie",
    "-O2",  # a later -Os still counts
    "-g0",
    "-DNDEBUG",
    "-ffunction-sections",  # the linker drops what nothing calls
    "-fdata-sections",
    "-fno-asynchronous-unwind-tables",  # nothing unwinds C frames
    "-fno-unwind-tables",
]
# What `zig cc` adds by itself. It is called for the libc alone: per file it takes twice the time
# of the clang inside it, and for each new set of flags it compiles its libc anew.
_KERNEL_HEADERS = {"x86_64": "x86-linux-any", "aarch64": "aarch64-linux-any"}
_PARTS = ["crt1.o", "libc.a", "libzigc.a", "libcompiler_rt.a"]
_EMPTY = ["m", "dl", "pthread", "rt", "util", "crypt", "resolv"]  # all of it is in musl's libc.a


class Toolchain:
    """The compiler `cc-<cpu>` and the archiver, to be called by name with `environment()`.

    By name, because CPython and OpenSSL store the compiler's command in what they build.
    """

    def __init__(self, workshop: Workshop, zig: Path, cpu: str) -> None:
        program = zig / "ziglang/zig"
        program.chmod(0o755)  # zipfile drops the mode
        target = f"{cpu}-linux-musl"

        def libc(bench: Bench) -> None:
            cache = bench.scratch / "zig"
            source = bench.scratch / "main.c"
            source.write_text("int main(void) { return 0; }\n")
            env = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache)}
            words = ["-static", "-O2", "-s", str(source), "-o", f"{bench.scratch}/main"]
            bench.run(program, "cc", "-target", target, *words, env=env)
            for name in _PARTS:
                shutil.copy(next(cache.glob(f"o/*/{name}")), bench.out)
            for name in _EMPTY:
                (bench.out / f"lib{name}.a").write_text("!<arch>\n")

        lib = workshop.make(f"libc-{cpu}", [zig.name, Path(__file__)], libc)
        headers = zig / "ziglang/lib"
        names = [target, "generic-musl", _KERNEL_HEADERS[cpu], "any-linux-any"]
        folders = [headers / "include", *(headers / "libc/include" / name for name in names)]
        flags = [
            *_FLAGS,
            *(f"-isystem {folder}" for folder in folders),
            # Nothing of the build machine's.
            f"-nostdinc -nostdlib --sysroot={lib}",
            "-fuse-ld=lld -Qunused-arguments",
        ]
        last = f"-L{lib} -Wl,{','.join(str(lib / part) for part in _PARTS)}"

        def scripts(bench: Bench) -> None:
            words = f"clang -target {target} {' '.join(flags)}"
            script(bench.out / f"cc-{cpu}", f'exec {program} {words} "$@" {last}')
            for tool in ("ar", "ranlib", "ld.lld"):
                script(bench.out / tool, f'exec {program} {tool} "$@"')

        self._bin = workshop.make(f"toolchain-{cpu}", [str(program), *flags, last], scripts)
        self.cpu = cpu
        self.id = f"{lib.name} {_FLAGS}"  # what decides the result; where it lies does not

    def environment(self) -> dict[str, str]:
        """Return the variables a command needs to find and run the wrappers."""
        return {"PATH": f"{self._bin}:{os.environ['PATH']}", "AR": "ar", "RANLIB": "ranlib"}


def script(file: Path, command: str) -> None:
    """Write a shell script of one command."""
    file.write_text(f"#!/bin/sh\n{command}\n")
    file.chmod(0o755)
