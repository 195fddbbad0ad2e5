"""An image archive is what a container runtime imports."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from .image import write_image


def test_image_archive_holds_its_files_by_digest(tmp_path: Path) -> None:
    """Index, manifest, configuration and layer name each other by the digests of their bytes."""
    source = tmp_path / "program"
    source.write_bytes(b"\x7fELF")
    source.chmod(0o755)
    archive = tmp_path / "image.tar"

    write_image(
        archive,
        "test/image:1",
        ["/opt/program"],
        {"/opt/program": source},
        {"/bin/p": "/opt/program"},
    )

    with tarfile.open(archive) as tar:
        content = {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]

    def blob(descriptor: dict[str, Any]) -> bytes:
        algorithm, _, digest = descriptor["digest"].partition(":")
        found = content[f"blobs/{algorithm}/{digest}"]
        assert (hashlib.sha256(found).hexdigest(), len(found)) == (digest, descriptor["size"])
        return found

    (entry,) = json.loads(content["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    configuration = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    with tarfile.open(fileobj=io.BytesIO(blob(layer))) as files:
        modes = {member.name: oct(member.mode) for member in files if member.isfile()}
        link = files.getmember("bin/p").linkname
    assert entry["annotations"]["io.containerd.image.name"] == "test/image:1"
    assert configuration["rootfs"]["diff_ids"] == [layer["digest"]]
    assert (modes, link) == ({"opt/program": "0o755"}, "/opt/program")
