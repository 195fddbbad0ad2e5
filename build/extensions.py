"""The C parts linked beside CPython: msgspec's core, the table of built-in modules, our own C."""

from pathlib import Path

from stage import Bench, BuildFailed, Workshop
from toolchain import Toolchain

NATIVE = Path(__file__).with_name("native")


def build(workshop: Workshop, toolchain: Toolchain, msgspec: Path, python: Path) -> Path:
    """Return a directory of object files for the toolchain's CPU.

    msgspec's core becomes a built-in module of the program only. The interpreter that runs Nuitka
    must not have it: Nuitka would emit a call of an import helper that does not exist.
    """

    def work(bench: Bench) -> None:
        env = toolchain.environment()
        compiler = [f"cc-{toolchain.cpu}", f"-I{python}/include/python3.13", "-c"]
        table = bench.scratch / "config.c"
        table.write_text(with_msgspec((python / "config.c").read_text()))
        for source in (table, *sorted(NATIVE.glob("*.c"))):
            target = bench.out / f"{source.stem}.o"
            bench.run(*compiler, "-Os", source, "-o", target, cwd=source.parent, env=env)
        core = ["-O2", "-fvisibility=hidden", "-DPyInit__core=PyInit_msgspec__core", "_core.c"]
        target = bench.out / "msgspec_core.o"
        bench.run(*compiler, *core, "-o", target, cwd=msgspec / "src/msgspec", env=env)

    made_of = [toolchain.id, msgspec.name, python.name]
    return workshop.make(f"extensions-{toolchain.cpu}", [*made_of, NATIVE, Path(__file__)], work)


def with_msgspec(table: str) -> str:
    """Return CPython's generated table of built-in modules with one more line."""
    declaration = "extern PyObject* PyInit__imp(void);\n"
    entry = '    {"_imp", PyInit__imp},\n'
    if declaration not in table or entry not in table:
        raise BuildFailed("config.c of this CPython looks different: see with_msgspec")
    table = table.replace(
        declaration, f"{declaration}extern PyObject* PyInit_msgspec__core(void);\n"
    )
    return table.replace(entry, f'{entry}    {{"msgspec._core", PyInit_msgspec__core}},\n')
