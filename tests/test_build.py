"""The scripts that make the executable, where they can be tested without making it."""

import gzip
import hashlib
import io
import json
import os
import re
import signal
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import extensions
import image
import link
import pytest
import sbom
import sources
from graph import Graph
from stage import Bench, BuildFailed, Commands, Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    cache = tmp_path / "cache"
    cache.mkdir()
    return Workshop(cache, jobs=1)


def write_once(bench: Bench) -> None:
    (bench.out / "made").write_text("whole")


def refuse(_: Bench) -> None:
    raise AssertionError("made again")


def test_stage_is_made_once_for_the_same_inputs(workshop: Workshop) -> None:
    """A second build with the same inputs takes the first one's result."""
    first = workshop.make("part", ["word"], write_once)
    second = workshop.make("part", ["word"], refuse)
    assert first == second
    assert (second / "made").read_text() == "whole"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: (folder / "a.c").write_text("int b;"), id="content"),
        pytest.param(lambda folder: (folder / "a.c").rename(folder / "b.c"), id="name"),
        pytest.param(lambda folder: (folder / "new.h").touch(), id="new-file"),
    ],
)
def test_stage_is_made_again_when_an_input_file_changes(
    workshop: Workshop, tmp_path: Path, change: Any
) -> None:
    """Input files count by name and content."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.c").write_text("int a;")
    before = workshop.make("part", [folder], write_once)
    change(folder)
    assert workshop.make("part", [folder], write_once) != before


def test_stage_does_not_depend_on_where_its_inputs_lie(workshop: Workshop, tmp_path: Path) -> None:
    """Two checkouts at different paths share one result."""
    results = set()
    for checkout in ("one", "two"):
        (tmp_path / checkout).mkdir()
        (tmp_path / checkout / "a.c").write_text("int a;")
        results.add(workshop.make("part", [tmp_path / checkout], write_once))
    assert len(results) == 1


def test_failed_stage_leaves_no_result(workshop: Workshop) -> None:
    """What is in the cache is whole; a stage that failed is made again."""

    def fail_half_way(bench: Bench) -> None:
        (bench.out / "made").write_text("half")
        bench.run(sys.executable, "-c", "print('the reason'); raise SystemExit(3)")

    with pytest.raises(BuildFailed):
        workshop.make("part", ["word"], fail_half_way)
    assert (workshop.make("part", ["word"], write_once) / "made").read_text() == "whole"


def test_failed_command_tells_its_last_lines_and_its_log(workshop: Workshop) -> None:
    """An error shows what the tool said last, and where the rest is."""

    def fail(bench: Bench) -> None:
        bench.run(sys.executable, "-c", "print('the reason'); raise SystemExit(3)")

    with pytest.raises(BuildFailed) as failed:
        workshop.make("part", ["word"], fail)
    text = str(failed.value)
    log = next((workshop.cache / "logs").iterdir())
    assert "ended with status 3" in text
    assert "| the reason" in text
    assert text.endswith(f"whole log: {log}")


def test_commands_of_a_stage_do_not_see_the_environment(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is exported in a shell does not change what is built."""
    monkeypatch.setenv("CFLAGS", "-O0")

    def show(bench: Bench) -> None:
        code = "import os, sys; sys.exit('CFLAGS' in os.environ)"
        bench.run(sys.executable, "-c", code)

    workshop.make("part", ["word"], show)


def test_call_gets_the_results_of_the_calls_it_names() -> None:
    """Calls in a graph begin when what they take is there."""
    with Graph(stop=lambda: None) as graph:
        first = graph.call(lambda: "zlib")
        second = graph.call(lambda made, name: [made, name], first, "openssl")
        third = graph.call(lambda left, right: (left, right), first, second)
    assert third.result() == ("zlib", ["zlib", "openssl"])


def test_failure_ends_what_runs_beside_it(tmp_path: Path) -> None:
    """The build ends with the first error; no command goes on, and none begins."""
    commands = Commands()
    began = tmp_path / "began"
    os.mkfifo(began)
    all_run = threading.Event()

    def fail() -> None:
        began.read_text()
        all_run.wait()
        raise BuildFailed("the reason")

    graph = Graph(stop=commands.stop)
    beside = graph.call(commands.run, ["sh", "-c", f"echo > {began}; exec sleep 600"])
    failed = graph.call(fail)
    after = graph.call(commands.run, failed)
    while not after.running():  # else it would be cancelled instead
        time.sleep(0.01)
    all_run.set()
    with pytest.raises(BuildFailed, match="the reason"), graph:
        pass
    assert beside.result() == -signal.SIGTERM
    assert after.exception() is failed.exception()
    with pytest.raises(BuildFailed, match="stopped"):
        commands.run(["true"])


def test_object_is_made_of_what_its_source_embeds(tmp_path: Path) -> None:
    """C that embeds a file is compiled again when only that file has changed."""
    source = tmp_path / "data.c"
    source.write_text('char data[] = {\n#embed "blobs/data.bin"\n};\n')
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs/data.bin").write_bytes(b"bytecode")
    assert [source.read_bytes(), b"bytecode"] == link.content(source)


@pytest.mark.parametrize("origin", ["debian", "pypi", "inside"])
def test_every_pin_is_complete(origin: str) -> None:
    """A part has a version, a licence, a role, and a sum or the part that it comes in."""
    for name, pin in sources.PINS[origin].items():
        assert {"version", "license", "role"} <= pin.keys(), name
        assert pin["role"] in {"linked", "tool"}
        if origin == "inside":
            assert pin["within"] in {**sources.PINS["debian"], **sources.PINS["pypi"]}
        else:
            assert len(bytes.fromhex(pin["sha256"])) == 32


def test_built_in_modules_gain_msgspec() -> None:
    """CPython's table of built-in modules has one entry more."""
    table = (
        "extern PyObject* PyInit__imp(void);\n"
        "struct _inittab _PyImport_Inittab[] = {\n"
        '    {"_imp", PyInit__imp},\n'
        "};\n"
    )
    assert extensions.with_msgspec(table) == (
        "extern PyObject* PyInit__imp(void);\n"
        "extern PyObject* PyInit_msgspec__core(void);\n"
        "struct _inittab _PyImport_Inittab[] = {\n"
        '    {"_imp", PyInit__imp},\n'
        '    {"msgspec._core", PyInit_msgspec__core},\n'
        "};\n"
    )


def test_unknown_table_of_built_in_modules_is_refused() -> None:
    """A CPython that writes its table in another way stops the build."""
    with pytest.raises(BuildFailed, match=r"config\.c"):
        extensions.with_msgspec("nothing known")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The files of the image archive made of two small programs."""
    for name in ("amd64", "arm64"):
        (tmp_path / f"dlf-linux-{name}").write_bytes(f"program of {name}".encode())
    arguments = ["image.py", "--dist", str(tmp_path), "--name", "example/dlf:1"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert image.main() == 0
    return unpacked((tmp_path / "dlf-image.tar").read_bytes())


def unpacked(archive: bytes) -> dict[str, bytes]:
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for entry in tar:
            content = tar.extractfile(entry)
            if content is not None:
                files[entry.name] = content.read()
    return files


def manifests(layout: dict[str, bytes], image_number: int = 0) -> list[dict[str, Any]]:
    index = json.loads(layout["index.json"])
    return list(json.loads(blob(layout, index["manifests"][image_number]))["manifests"])


def config_of(layout: dict[str, bytes], image_number: int) -> dict[str, Any]:
    manifest = json.loads(blob(layout, manifests(layout, image_number)[0]))
    return dict(json.loads(blob(layout, manifest["config"]))["config"])


def blob(layout: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """The content of a descriptor, checked against its size and digest."""
    content = layout[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert len(content) == descriptor["size"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == descriptor["digest"]
    return content


def test_image_has_both_platforms(layout: dict[str, bytes]) -> None:
    """One name leads to an image for each CPU."""
    index = json.loads(layout["index.json"])
    platforms = [manifest["platform"] for manifest in manifests(layout)]
    assert [
        {"architecture": "amd64", "os": "linux"},
        {"architecture": "arm64", "os": "linux"},
    ] == platforms
    assert "example/dlf:1" == index["manifests"][0]["annotations"]["io.containerd.image.name"]


def test_image_holds_the_executable_and_its_names_alone(layout: dict[str, bytes]) -> None:
    """The layer has dlf, executable and not writable, and the names that old templates call."""
    manifest = json.loads(blob(layout, manifests(layout)[1]))
    layer = gzip.decompress(blob(layout, manifest["layers"][0]))
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        entries = {entry.name: (entry.mode, entry.linkname) for entry in tar if not entry.isdir()}
        program = tar.extractfile("usr/bin/dlf")
        assert program is not None
        assert b"program of arm64" == program.read()
    assert entries["usr/bin/dlf"] == (0o555, "")
    assert {name: link for name, (_, link) in entries.items() if link} == {
        "usr/bin/python": "dlf",
        "usr/bin/python3": "dlf",
    }


def test_image_config_has_no_entrypoint_and_a_user(layout: dict[str, bytes]) -> None:
    """A template names the command, and nothing runs as root."""
    manifest = json.loads(blob(layout, manifests(layout)[0]))
    config = json.loads(blob(layout, manifest["config"]))
    layer = gzip.decompress(blob(layout, manifest["layers"][0]))
    assert config["config"] == {
        "User": "65532:65532",
        "Env": ["PATH=/usr/bin", "DLF_LAUNCHER_IMAGE=true"],
        "Cmd": ["dlf"],
    }
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]


@pytest.mark.parametrize(("number", "framework"), [(1, "tf"), (2, "pytorch")])
def test_image_variant_differs_by_its_framework_alone(
    layout: dict[str, bytes], number: int, framework: str
) -> None:
    """`python3 launcher.py` finds its framework in the environment of the image."""
    names = [
        entry["annotations"]["io.containerd.image.name"]
        for entry in json.loads(layout["index.json"])["manifests"]
    ]
    plain = config_of(layout, 0)
    assert f"example/dlf:1-{framework}" == names[number]
    assert config_of(layout, number) == plain | {
        "Env": [*plain["Env"], f"DLF_FRAMEWORK={framework}"]
    }


def test_dockerfile_makes_the_same_variants() -> None:
    """A stage for each variant sets what the archive's images have; the last stage is plain dlf."""
    text = (image.CHECKOUT / "Dockerfile.multiarch").read_text()
    stages = re.findall(r"^FROM launcher AS (.+)\nENV DLF_FRAMEWORK=(.+)$", text, re.MULTILINE)
    assert [(name, name) for name in image.VARIANTS] == stages
    assert text.endswith("\nFROM launcher\n")
    assert f"ENV {' '.join(image.ENVIRONMENT)}\n" in text


def test_bill_of_materials_names_every_part() -> None:
    """Every pinned part is there with version and licence; only what is linked is required."""
    bill = sbom.bill({"dlf-linux-amd64": "00" * 32})
    parts = {part["name"]: part for part in bill["components"]}
    assert parts.keys() == {name for pins in sources.PINS.values() for name in pins}
    assert all(part["version"] and part["licenses"] for part in parts.values())
    assert {name for name, part in parts.items() if part["scope"] == "excluded"} == {
        "ziglang",
        "nuitka",
    }
    assert parts["openssl"]["purl"].startswith("pkg:deb/debian/openssl@")
