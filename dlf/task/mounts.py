"""KFJ_TASK_VOLUME_MOUNT: `SOURCE(kind):MOUNTPATH`, separated by `,` or `;`."""

import re
from typing import Literal

import msgspec

from dlf.task.scalars import text as any_text
from dlf.task.syntax import is_subdomain

Source = Literal["pvc", "pvc-share", "nfs", "hostpath", "configmap", "secret", "memory"]

_ENTRY = re.compile(r"([^()]*)\(([^()]*)\)\s*:\s*(.*)", re.DOTALL)
_FORM = (
    "write SOURCE(kind):/path with kind pvc, pvc-share, nfs, hostpath, configmap, secret or memory"
)
_SIZE = re.compile(r"([0-9]{1,9})(?:[gG]i?)?")


class Mount(msgspec.Struct, frozen=True):
    """One volume and where it is mounted.

    Attributes:
        kind: what the source is.
        source: claim, ConfigMap or Secret name; `server/path`; host path; or a size such as `4Gi`.
        path: absolute mount path.
    """

    kind: Source
    source: str
    path: str


def mounts(value: str) -> tuple[Mount, ...]:
    """The mounts in the order written; a source or path seen before is skipped.

    Raises:
        ValueError: for an unknown form or kind and an unusable source or path; of several entries,
            it names the wrong one.
    """
    found: list[Mount] = []
    entries = [part.strip() for part in re.split(r"[,;\n]", any_text(value)) if part.strip()]
    for entry in entries:
        try:
            mount = _mount(entry)
        except ValueError as error:
            problem = str(error)
            if len(entries) > 1:
                which = "is not valid; " if problem.startswith("write ") else ""
                problem = f"contains {entry!r}, which {which}{problem}"
            raise ValueError(problem) from None
        if all(mount.source != other.source and mount.path != other.path for other in found):
            found.append(mount)
    return tuple(found)


def _mount(entry: str) -> Mount:
    form = _ENTRY.fullmatch(entry.replace("（", "(").replace("）", ")"))
    if not form:
        raise ValueError(_FORM)
    source, word, path = (part.strip() for part in form.groups())
    if not path.startswith("/") or ":" in path:
        raise ValueError("write a mount path that starts with / and has no colon")
    kind, source = _source(source, word)
    return Mount(kind, source, path.rstrip("/") or "/")


def _source(source: str, word: str) -> tuple[Source, str]:
    kind: Source
    match word:
        case "pvc" | "configmap" | "secret":
            kind = word
        case "pvc-share" | "storage":
            kind = "pvc-share"
        case "nfs":
            server, slash, path = source.partition("/")
            server = re.sub(r"(?<!:):$", "", server)  # `SERVER:/PATH`, as mount(8) has it
            if not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", server) or not slash:
                raise ValueError("write SERVER/PATH(nfs):/path")
            return "nfs", f"{server}/{path}"
        case "hostpath":
            if not source.startswith("/") or ".." in source.split("/"):
                raise ValueError("write /absolute/path(hostpath):/path, without ..")
            return "hostpath", source
        case "memory":
            size = _SIZE.fullmatch(source)
            if not size or int(size[1]) == 0:
                raise ValueError("write a size in Gi, such as 4Gi(memory):/dev/shm")
            return "memory", f"{int(size[1])}Gi"
        case _:
            raise ValueError(f"has an unknown kind {word!r}; {_FORM}")
    if not is_subdomain(source):
        raise ValueError(f"write the name of a {kind}, of a-z, 0-9, - and .")
    return kind, source
