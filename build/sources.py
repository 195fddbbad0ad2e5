"""Download and unpack what sources.toml pins, with the machine's own apt and pip.

No host is named: Debian's packages come from the archives that this machine's apt uses, in SUITE
instead of its own release, and PyPI's from the index its pip uses.
"""

import hashlib
import subprocess
import sys
import tomllib
import zipfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from graph import Graph
from stage import Bench, BuildFailed, Workshop

PINS_FILE = Path(__file__).with_name("sources.toml")
PINS: dict[str, dict[str, Any]] = tomllib.loads(PINS_FILE.read_text())
TRIM: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("trim.toml").read_text()
)
SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


FIRST = "ziglang"
"""The largest, and what the first compiler waits for: the others come while that works."""


def fetch(graph: Graph, workshop: Workshop) -> dict[str, Future[Path]]:
    """Return the unpacked source directory of every pinned part, by its name."""

    def get(name: str, pin: dict[str, Any], _: Path | None) -> Path:
        def work(bench: Bench) -> None:
            file = _pip(bench, name, pin) if "kind" in pin else _apt(bench, name, pin)
            got = hashlib.sha256(file.read_bytes()).hexdigest()
            if pin["sha256"] != got:
                raise BuildFailed(f"{file.name}: pinned {pin['sha256']}, downloaded {got}")
            _unpack(bench, file)

        return workshop.make(f"source-{name}", [pin["version"], pin["sha256"]], work)

    pins = PINS["debian"] | PINS["pypi"]
    first = graph.call(get, FIRST, pins.pop(FIRST), None)
    return {FIRST: first} | {name: graph.call(get, name, pin, first) for name, pin in pins.items()}


def _apt(bench: Bench, name: str, pin: dict[str, Any]) -> Path:
    """Download a source package into the scratch directory and return its .dsc.

    The archives are asked one after the other: a mirror may list a file in two and serve it from
    one.
    """
    listed: set[str] = set()
    for number, archive in enumerate(archives(SUITE)):
        options = apt_options(bench.scratch / str(number), "deb-src", archive)
        bench.run("apt-get", *options, "update")
        try:
            bench.run("apt-get", *options, "source", "--download-only", f"{name}={pin['version']}")
        except BuildFailed:
            show = ["apt-cache", *options, "showsrc", "--only-source", name]
            served = subprocess.run(show, capture_output=True, text=True, check=False).stdout
            listed |= {
                line.split()[1] for line in served.splitlines() if line.startswith("Version:")
            }
            continue
        return next(bench.scratch.glob("*.dsc"))
    raise BuildFailed(
        f"no Debian archive of this machine serves {name} {pin['version']}; they list: "
        f"{' '.join(sorted(listed)) or 'nothing'}; whole log: {bench.log}"
    )


def apt_options(state: Path, kind: str, archive: str) -> list[str]:
    """Return the apt options that use one archive alone, with state of its own.

    `kind` is "deb" or "deb-src", `archive` one of `archives`.
    """
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    (state / "sources.list").write_text(f"{kind} [signed-by={KEYRING}] {archive} main\n")
    return [
        f"-oDir::Etc::SourceList={state}/sources.list",
        "-oDir::Etc::SourceParts=/dev/null",
        f"-oDir::State::Lists={state}/lists",
        f"-oDir::Cache={state}/cache",
        "-oAPT::Sandbox::User=root",  # the files belong to whoever builds
    ]


def archives(suite: str) -> list[str]:
    """Return "URI suite" of this machine's Debian archives; the main one comes first.

    `suite` takes the place of the machine's own release: bookworm-security becomes trixie-security.
    """
    show = ["apt-get", "indextargets", "--format", "$(ORIGIN)\t$(CODENAME)\t$(REPO_URI)"]
    found = set()
    for line in subprocess.run(
        show, capture_output=True, text=True, check=True
    ).stdout.splitlines():
        origin, codename, uri = line.split("\t")
        if origin == "Debian":
            _, dash, suffix = codename.partition("-")
            found.add((dash + suffix, uri))
    if not found:
        raise BuildFailed(
            "apt knows no Debian archive: add one to its sources and run apt-get update"
        )
    return [f"{uri} {suite}{suffix}" for suffix, uri in sorted(found)]


def _pip(bench: Bench, name: str, pin: dict[str, Any]) -> Path:
    """Download one file of PyPI into the scratch directory and return it."""
    only = "--no-binary" if pin["kind"] == "sdist" else "--only-binary"
    target = ["--python-version=3.13", "--platform=manylinux2014_x86_64"]
    folder = bench.scratch / "file"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        only,
        name,
        *target,
        "-d",
        str(folder),
    ]
    # The user's own environment: it is where pip's index and certificates are configured.
    done = subprocess.run(
        [*command, f"{name}=={pin['version']}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    bench.log.write_text(done.stdout)
    if done.returncode != 0:
        raise BuildFailed(
            f"pip download {name} failed:\n{done.stdout[-2000:]}\n  whole log: {bench.log}"
        )
    return next(folder.iterdir())


def _unpack(bench: Bench, file: Path) -> None:
    match file.suffix:
        case ".dsc":  # with Debian's patches; the .dsc has the sums of the other files
            bench.out.rmdir()  # dpkg-source makes it itself
            bench.run("dpkg-source", "--no-check", "-x", file, bench.out)
        case ".whl":
            zipfile.ZipFile(file).extractall(bench.out)
        case _:
            bench.run("tar", "xf", file, "--strip-components=1", "-C", bench.out)
