"""The C of the program compiled and linked for one CPU."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stage import Bench, BuildFailed, Workshop, files
from toolchain import Toolchain

OPTIONS = ["-std=c11", "-fvisibility=hidden", "-fwrapv", "-Wno-everything", "-Os"]
# See native/lazy_inspect.c.
OPTIONS_OF_FILE = {"MainProgram.c": ["-DpatchInspectModule=dlf_leave_inspect_alone"]}


def build(
    workshop: Workshop,
    nuitka: Path,
    translated: Path,
    toolchain: Toolchain,
    libraries: Path,
    python: Path,
    extensions: Path,
) -> Path:
    """Return a directory that holds the program, `dlf`, for the toolchain's CPU."""
    cpu = toolchain.cpu

    def work(bench: Bench) -> None:
        env = toolchain.environment()
        code = translated / "c"
        options = _options(translated, nuitka, python, cpu)
        # An edit of dlf changes the C of a few modules, so objects are kept by what made them.
        kept = workshop.cache / f"objects-{cpu}"
        kept.mkdir(exist_ok=True)
        headers = [file.read_bytes() for file in sorted(files(code)) if file.suffix == ".h"]
        # Where the C lies is new each time, and mapped away.
        common = repr(options).replace(str(translated), "")
        common = _sum(toolchain.id, nuitka.name, python.name, common, *headers)

        def compile_one(source: Path) -> Path:
            name = str(source.relative_to(code))
            own = OPTIONS_OF_FILE.get(source.name, [])
            target = kept / f"{_sum(common, name, repr(own), *content(source))}.o"
            if not target.exists():
                made = bench.scratch / target.name
                words = [*options, *own, "-c", name, "-o", str(made)]
                bench.run(f"cc-{cpu}", *words, cwd=code, env=env)
                made.rename(target)
            return target

        sources = sorted([*code.glob("*.c"), *(code / "static_src").glob("*.c")])
        with ThreadPoolExecutor(bench.jobs) as pool:
            objects = list(pool.map(compile_one, sources))
        objects += sorted(extensions.glob("*.o"))
        archives = sorted((python / "lib").glob("*.a"), key=lambda file: "python" not in file.name)
        system = [f"-L{libraries}/lib", "-lssl", "-lcrypto", "-lz", "-lm"]
        strip = ["-Wl,--gc-sections,-O2", "-s"]
        # musl gives a thread 128 KiB, too little for Python; this header makes it 8 MiB.
        stack = "-Wl,-z,stack-size=0x800000"
        program = bench.out / "dlf"
        bench.run(f"cc-{cpu}", "-o", program, *objects, *archives, *system, *strip, stack, env=env)

    made_of = [toolchain.id, nuitka.name, translated.name, libraries.name, python.name]
    made_of += [extensions.name, cpu]
    return workshop.make(f"program-{cpu}", [*made_of, Path(__file__)], work)


def _options(translated: Path, nuitka: Path, python: Path, cpu: str) -> list[str]:
    """Return the compiler's options: Nuitka's own defines, and its search path as it is now."""
    calls = [line.split("\t") for line in (translated / "calls").read_text().splitlines()]
    words = max(calls, key=lambda call: sum(word.startswith("-D") for word in call))
    if "-D_NUITKA_STATIC_LIBPYTHON" not in words:
        raise BuildFailed(f"Nuitka calls the compiler in another way: see {translated}/calls")
    defines = sorted({word for word in words if word.startswith("-D")})
    if cpu != "x86_64":
        defines = [word for word in defines if "VEC256" not in word]  # AVX2 code of HACL*
    own = nuitka / "nuitka/build"
    include = python / "include/python3.13"
    folders = [
        translated / "headers",
        include,
        include / "internal/mimalloc",
        translated / "c",
        own / "include",
        own / "static_src",
        *(Path(word[2:]) for word in words if word.startswith("-I") and "inline_copy" in word),
    ]
    # No path of this machine in the program.
    names = {nuitka: "nuitka", python: "python", translated: "program"}
    maps = [f"-ffile-prefix-map={folder}={name}" for folder, name in names.items()]
    return [*OPTIONS, *defines, *maps, *(f"-I{folder}" for folder in folders)]


def content(source: Path) -> list[bytes]:
    """Return a C file and what it embeds: the constants and the bytecode."""
    text = source.read_bytes()
    embedded = re.findall(rb'^#embed "(.+)"', text, re.MULTILINE)
    return [text, *((source.parent / name.decode()).read_bytes() for name in embedded)]


def _sum(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8) + content)
    return digest.hexdigest()[:32]
