"""CPython as a static library, and for the build machine's CPU as a program that runs Nuitka."""

import shutil
from pathlib import Path

from sources import TRIM
from stage import Bench, Workshop
from toolchain import Toolchain

BUILD_CPU = "x86_64"
VERSION = "3.13"

_OPTIONS = [
    "--prefix=/usr",
    "--disable-shared",
    "--disable-test-modules",
    "--without-ensurepip",
    "--without-doc-strings",
    "--without-readline",
    "--without-mimalloc",
    "--with-openssl-rpath=no",
    "--enable-ipv6",
    "ac_cv_buggy_getaddrinfo=no",  # musl's is good; the check cannot run everywhere
    "MODULE_BUILDTYPE=static",
]

# sys.version tells when and by what it was compiled, in a form that platform.python_version() can
# read: zig's own name is too long for it.
_STAMP = """-DDATE='"Jan 01 2026"' -DTIME='"00:00:00"' -DCOMPILER='"[Clang of zig]"'"""

# What configure cannot find out, as it cannot run arm64 programs: the answers of an amd64 build.
_CROSS_ANSWERS = [
    "ac_cv_file__dev_ptmx=yes",
    "ac_cv_file__dev_ptc=no",
    "ac_cv_computed_gotos=yes",
    "ac_cv_aligned_required=no",
    "ac_cv_broken_sem_getvalue=no",
    "ac_cv_working_tzset=yes",
    "ac_cv_pthread_system_supported=yes",
]


def build(
    workshop: Workshop,
    toolchain: Toolchain,
    source: Path,
    libraries: Path,
    build_python: Path | None,
) -> Path:
    """Return a directory with include/, lib/, config.c and, for BUILD_CPU, a working bin/.

    `build_python` is the result for BUILD_CPU when this is another CPU. lib/ holds the static
    libraries and the standard library.
    """
    left_out = TRIM["interpreter"]
    cpu = toolchain.cpu

    def work(bench: Bench) -> None:
        tree = bench.scratch / "python"
        bench.run("cp", "-a", source, tree)  # inside its tree __FILE__ and VPATH are relative paths
        env = toolchain.environment() | _variables(cpu, libraries, left_out["modules"])
        options = [*_OPTIONS, *_cpu_options(cpu, build_python), f"--with-openssl={libraries}"]
        bench.run("./configure", *options, cwd=tree, env=env)
        _make_every_module_static(tree)
        make = ["make", f"-j{bench.jobs}", "OPT=-DNDEBUG -O2", f"EXTRA_CFLAGS={_STAMP}"]
        bench.run(*make, "python", f"libpython{VERSION}.a", cwd=tree, env=env)
        bench.run(*make, "platform", "python-config", cwd=tree, env=env)
        root = f"DESTDIR={bench.scratch}/root"
        bench.run(*make, "altbininstall", "inclinstall", root, cwd=tree, env=env)
        for folder in ("bin", "include"):
            shutil.move(bench.scratch / "root/usr" / folder, bench.out / folder)
        shutil.copy(tree / "Modules/config.c", bench.out)
        _install_library(tree, bench.out / "lib", left_out)

    made_of = [toolchain.id, source.name, libraries.name, cpu, repr(left_out)]
    return workshop.make(f"python-{cpu}", [*made_of, Path(__file__)], work)


def _variables(cpu: str, libraries: Path, unwanted: list[str]) -> dict[str, str]:
    return {f"py_cv_module_{name}": "n/a" for name in unwanted} | {
        "CC": f"cc-{cpu}",
        "CXX": f"cc-{cpu}",
        "READELF": "readelf",
        "CPPFLAGS": f"-I{libraries}/include",
        "LDFLAGS": f"-static -L{libraries}/lib",
        "LINKFORSHARED": " ",  # else -export-dynamic, which a static program cannot have
        "PKG_CONFIG": "false",  # else it finds the build machine's libraries
        "ZLIB_CFLAGS": f"-I{libraries}/include",
        "ZLIB_LIBS": f"-L{libraries}/lib -lz",
    }


def _cpu_options(cpu: str, build_python: Path | None) -> list[str]:
    if build_python is None:
        # One name for host and build: a static program for this CPU runs here, so tests may run.
        return [f"--host={cpu}-linux-musl", f"--build={cpu}-linux-musl"]
    python = build_python / "bin" / f"python{VERSION}"
    machines = [f"--host={cpu}-linux-musl", f"--build={BUILD_CPU}-linux-gnu"]
    return [*machines, f"--with-build-python={python}", *_CROSS_ANSWERS]


def _make_every_module_static(tree: Path) -> None:
    """Use the one list that names every extension module.

    Its "*shared*" line begins those that cannot be static: they are test modules, all left out.
    """
    modules = (tree / "Modules/Setup.stdlib").read_text()
    (tree / "Modules/Setup.local").write_text(modules.replace("\n*shared*\n", "\n"))


def _install_library(tree: Path, lib: Path, left_out: dict[str, list[str]]) -> None:
    standard = lib / f"python{VERSION}"
    shutil.copytree(tree / "Lib", standard, ignore=shutil.ignore_patterns(*left_out["library"]))
    for codec in (standard / "encodings").glob("*.py"):
        if codec.stem not in left_out["codecs_kept"]:
            codec.unlink()
    (standard / "lib-dynload").mkdir()  # CPython warns at start when it is missing
    generated = tree / (tree / "pybuilddir.txt").read_text()
    shutil.copy(next(generated.glob("_sysconfigdata*.py")), standard)
    library = f"libpython{VERSION}.a"
    shutil.copy(tree / library, lib)
    # Two modules have archives of their own, with objects of the same names as libpython's: they
    # cannot be merged into it, and are linked beside it.
    shutil.copy(tree / "Modules/_decimal/libmpdec/libmpdec.a", lib)
    shutil.copy(tree / "Modules/_hacl/libHacl_Hash_SHA2.a", lib)
    config = standard / f"config-{VERSION}"  # where Nuitka looks for the static library
    config.mkdir()
    (config / library).symlink_to(f"../../{library}")
