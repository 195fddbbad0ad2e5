"""Container images made from the host's own files, so that nothing is ever pulled.

An image is an OCI archive of one uncompressed layer, as the image-spec's layout lays it out.
"""

import hashlib
import io
import json
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

WORKER_IMAGE = "dlf.test/worker:1"
"""busybox, bash and the host's Python with its standard library; also the pause image."""

_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}
# The training operator's init container runs `nslookup MASTER` in `sh` until it succeeds. busybox's
# nslookup asks in every domain of the search list and fails when one of them does not know MASTER;
# its `sh` would use that one whatever PATH says, so `sh` is bash.
_NSLOOKUP = """#!/bin/sh
for domain in $(sed -n 's/^search //p' /etc/resolv.conf); do
    busybox nslookup "$1.$domain" && exit
done
busybox nslookup "$1"
"""
_LEFT_OUT = re.compile(
    r"(?:test|idlelib|tkinter|turtledemo|ensurepip|lib2to3|pydoc_data|config-.*|.*-packages)/"
    r"|lib-dynload/_(?:tkinter|test)|.*\.opt-[12]\.pyc$"
)


def worker_image(cache: Path) -> Path:
    """Return the archive of the image of the tests' pods, made if ``cache`` lacks it.

    Raises:
        FileNotFoundError: Debian's busybox-static or bash-static is not installed.
    """
    busybox, bash = Path("/bin/busybox"), Path("/bin/bash-static")
    made_from = [sys.version, sys.base_prefix, Path(__file__).read_text()]
    made_from += [str(tool.stat().st_mtime_ns) for tool in (busybox, bash)]
    archive = cache / f"worker-{hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]}.tar"
    if archive.exists():
        return archive
    files = {"/bin/busybox": busybox, "/bin/bash": bash}
    applets = subprocess.run(["/bin/busybox", "--list"], check=True, stdout=subprocess.PIPE)
    links = {f"/bin/{applet}": "busybox" for applet in applets.stdout.decode().split()}
    links |= {"/usr/bin/env": "/bin/busybox"}
    interpreter = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    links |= {"/bin/python3": str(interpreter), "/bin/python": str(interpreter)}
    files |= {str(file): file for file in _python_files(interpreter)}
    links["/bin/sh"] = "bash"
    del links["/bin/nslookup"]
    texts = {"/etc/passwd": "root:x:0:0::/root:/bin/bash\n", "/etc/group": "root:x:0:\n"}
    scripts = {"/bin/nslookup": _NSLOOKUP}
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        made = Path(scratch, "worker.tar")
        write_image(made, WORKER_IMAGE, ["/bin/sleep", "infinity"], files, links, texts, scripts)
        return made.replace(archive)  # whole or absent, also when two sessions make it at once


def write_image(
    archive: Path,
    name: str,
    command: list[str],
    files: Mapping[str, Path],
    links: Mapping[str, str] = {},
    texts: Mapping[str, str] = {},
    scripts: Mapping[str, str] = {},
    user: str = "",
) -> None:
    """Write an image called ``name``, e.g. of ``files = {"/dlf": Path("dist/dlf")}``.

    Keys are absolute paths in the image; ``links`` are symbolic, ``texts`` small files,
    ``scripts`` small executables. ``user`` is what its containers run as: root, if empty.
    """
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for folder in _folders([*files, *links, *texts, *scripts, "/root/x", "/etc/x"]):
            _add(tar, folder, tarfile.DIRTYPE, mode=0o755)
        _add(tar, "/tmp", tarfile.DIRTYPE, mode=0o1777)
        for path, target in links.items():
            _add(tar, path, tarfile.SYMTYPE, link=target)
        for path, text in texts.items():
            _add(tar, path, content=text.encode())
        for path, text in scripts.items():
            _add(tar, path, content=text.encode(), mode=0o755)
        for path, source in files.items():
            _add(tar, path, content=source.read_bytes(), mode=source.stat().st_mode & 0o777)
    blobs: dict[str, bytes] = {}
    digest = _put(blobs, layer.getvalue())
    configuration = {
        "architecture": _ARCHITECTURE[platform.machine()],
        "os": "linux",
        "config": {"Cmd": command, "Env": ["PATH=/bin:/usr/bin"], "User": user},
        "rootfs": {"type": "layers", "diff_ids": [digest]},
    }
    kind = "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{kind}.manifest.v1+json",
        "config": _descriptor(blobs, f"{kind}.config.v1+json", _put_json(blobs, configuration)),
        "layers": [_descriptor(blobs, f"{kind}.layer.v1.tar", digest)],
    }
    entry = _descriptor(blobs, manifest["mediaType"], _put_json(blobs, manifest))
    entry["annotations"] = {"io.containerd.image.name": name}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", content=b'{"imageLayoutVersion":"1.0.0"}')
        index = {"schemaVersion": 2, "manifests": [entry]}
        _add(tar, "index.json", content=json.dumps(index).encode())
        for digest, blob in blobs.items():
            _add(tar, f"blobs/{digest.replace(':', '/')}", content=blob)


def _python_files(interpreter: Path) -> Iterable[Path]:
    """Yield the interpreter, its standard library and the shared libraries that these load."""
    library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix}))
    modules = [
        file
        for file in library.rglob("*")
        if file.is_file() and not _LEFT_OUT.match(str(file.relative_to(library)))
    ]
    yield interpreter
    yield from modules
    loaded = subprocess.run(
        ["ldd", interpreter, *(file for file in modules if file.suffix == ".so")],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    yield from map(Path, sorted(set(re.findall(r"(?:=> |^\t)(/\S+) \(0x", loaded, re.MULTILINE))))


def _folders(paths: Iterable[str]) -> list[str]:
    return sorted({str(folder) for path in paths for folder in Path(path).parents} - {"/"})


def _add(
    tar: tarfile.TarFile,
    path: str,
    kind: bytes = tarfile.REGTYPE,
    *,
    content: bytes = b"",
    mode: int = 0o644,
    link: str = "",
) -> None:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type, member.mode, member.linkname, member.size = kind, mode, link, len(content)
    tar.addfile(member, io.BytesIO(content))


def _put(blobs: dict[str, bytes], blob: bytes) -> str:
    digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
    blobs[digest] = blob
    return digest


def _put_json(blobs: dict[str, bytes], value: object) -> str:
    return _put(blobs, json.dumps(value).encode())


def _descriptor(blobs: Mapping[str, bytes], media_type: object, digest: str) -> dict[str, object]:
    return {"mediaType": media_type, "digest": digest, "size": len(blobs[digest])}
