"""Make dist/dlf-image.tar, an OCI archive for amd64 and arm64, from the executables in dist/.

It holds three images of one layer: NAME, and NAME-tf and NAME-pytorch with DLF_FRAMEWORK set.
Dockerfile.multiarch makes the same images; here they are written by hand: no Docker, no root, the
same bytes each time. The format is that of the OCI image specification, 1.1.
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from pathlib import Path
from typing import Any

from toolchain import TARGETS

CHECKOUT = Path(__file__).parent.parent
TYPE = "application/vnd.oci.image"
CREATED = "2026-01-01T00:00:00Z"  # the same as stage.ENVIRONMENT's SOURCE_DATE_EPOCH
USER = "65532:65532"  # "nonroot", as in other images without a shell
# Old templates run `python3 launcher-<framework>.py ...`; dlf knows itself under these names.
NAMES = ["python", "python3"]
# DLF_LAUNCHER_IMAGE lets dlf know that its own image cannot train.
ENVIRONMENT = ["PATH=/usr/bin", "DLF_LAUNCHER_IMAGE=true"]
# Templates of these frameworks run `python3 launcher.py`, which does not name the framework:
# the image with the tag VERSION-FRAMEWORK does.
VARIANTS = ["tf", "pytorch"]

Descriptor = dict[str, Any]


class Archive:
    """An OCI image layout inside a tar file: blobs named by their sha256, and an index."""

    def __init__(self, output: tarfile.TarFile) -> None:
        self._output = output
        self._written: set[str] = set()

    def blob(self, kind: str, content: bytes, **more: Any) -> Descriptor:
        """Add a blob and return its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._written:
            self._written.add(digest)
            _add(self._output, f"blobs/sha256/{digest}", content)
        size = len(content)
        return {"mediaType": f"{TYPE}.{kind}", "digest": f"sha256:{digest}", "size": size, **more}

    def image(self, program: bytes, architecture: str, framework: str) -> Descriptor:
        """Add the image of one architecture and return its manifest's descriptor.

        `framework` is what `python3 launcher.py` runs, or "".
        """
        layer = _layer(program)
        platform = {"architecture": architecture, "os": "linux"}
        config = {
            **platform,
            "created": CREATED,
            "config": {
                "User": USER,
                "Env": [*ENVIRONMENT, *([f"DLF_FRAMEWORK={framework}"] if framework else [])],
                "Cmd": ["dlf"],
            },
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
            },
            "history": [{"created": CREATED, "created_by": "build/image.py"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{TYPE}.manifest.v1+json",
            "config": self.blob("config.v1+json", _json(config)),
            "layers": [self.blob("layer.v1.tar+gzip", gzip.compress(layer, mtime=0))],
        }
        return self.blob("manifest.v1+json", _json(manifest), platform=platform)

    def multiarch(self, images: list[Descriptor], name: str) -> Descriptor:
        """Add the index of an image's architectures, known as `name`; return its descriptor."""
        names = {
            "org.opencontainers.image.ref.name": name.rpartition(":")[2],
            "io.containerd.image.name": name,  # what `ctr image import` calls it
        }
        return self.blob("index.v1+json", _json(_index(images)), annotations=names)

    def finish(self, images: list[Descriptor]) -> None:
        """Write the list of all images."""
        _add(self._output, "index.json", _json(_index(images)))
        _add(self._output, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))


def _index(manifests: list[Descriptor]) -> Descriptor:
    header = {"schemaVersion": 2, "mediaType": f"{TYPE}.index.v1+json"}
    return {**header, "manifests": manifests}


def _layer(program: bytes) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for folder in ("usr", "usr/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(entry)
        _add(layer, "usr/bin/dlf", program, mode=0o555)
        for name in NAMES:
            entry = tarfile.TarInfo(f"usr/bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "dlf"
            layer.addfile(entry)
    return content.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _json(value: Descriptor) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def version() -> str:
    """Return the version that dlf/__init__.py states."""
    text = (CHECKOUT / "dlf/__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("dlf/__init__.py states no __version__")
    return found[1]


def main() -> int:
    """Parse the command line and write the archive."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--dist", type=Path, default=CHECKOUT / "dist", help="where the executables are")
    add("--version", action="version", version=version(), help="print dlf's version")
    add("--name", default=f"localhost/dlf:{version()}", help="image name (default: %(default)s)")
    arguments = parser.parse_args()
    target = arguments.dist / "dlf-image.tar"
    programs = {name: arguments.dist / f"dlf-linux-{name}" for name in TARGETS}
    missing = [str(program) for program in programs.values() if not program.exists()]
    if missing:
        print(f"error: no {', '.join(missing)}: run build/binary.py first", file=sys.stderr)
        return 1
    with tarfile.open(target, "w") as output:
        archive = Archive(output)
        images = []
        for framework in ("", *VARIANTS):
            name = f"{arguments.name}-{framework}" if framework else arguments.name
            platforms = [
                archive.image(path.read_bytes(), architecture, framework)
                for architecture, path in programs.items()
            ]
            images.append(archive.multiarch(platforms, name))
        archive.finish(images)
    print(f"{target}  {target.stat().st_size / 1e6:.1f} MB  {arguments.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
