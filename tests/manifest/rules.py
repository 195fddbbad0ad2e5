"""What the API server demands, written from the Kubernetes documentation and not from dlf's code.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and .../labels/,
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
import string
from typing import Any

_LOWER = set(string.ascii_lowercase + string.digits)
_ALNUM = set(string.ascii_letters + string.digits)


def is_rfc1035_label(name: str) -> bool:
    return is_rfc1123_label(name) and name[0] in string.ascii_lowercase


def is_rfc1123_label(name: str) -> bool:
    return 1 <= len(name) <= 63 and _edges(name, _LOWER) and set(name) <= _LOWER | {"-"}


def is_rfc1123_subdomain(name: str) -> bool:
    return len(name) <= 253 and all(
        part and _edges(part, _LOWER) and set(part) <= _LOWER | {"-"} for part in name.split(".")
    )


def is_label_value(value: str) -> bool:
    return not value or _is_name(value)


def is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return _is_name(name) and (not slash or is_rfc1123_subdomain(prefix))


def is_resource(name: str) -> bool:
    """A resource of a container: Kubernetes' own, or with the domain of whoever offers it."""
    own = name in {"cpu", "memory", "ephemeral-storage"} or name.startswith("hugepages-")
    return is_label_key(name) and (own or "/" in name)


def is_quantity(text: str) -> bool:
    return bool(
        re.fullmatch(
            r"(\d+|\d+\.\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?",
            text,
            re.ASCII,
        )
    )


def is_env_name(name: str) -> bool:
    return bool(name) and name[0] not in string.digits and set(name) <= _ALNUM | set("_.-")


def is_mount_path(path: str) -> bool:
    return path.startswith("/") and ":" not in path


def is_text(text: str) -> bool:
    """UTF-8 without NUL: what JSON and the arguments of a process can carry."""
    try:
        return "\0" not in text.encode().decode()
    except UnicodeEncodeError:
        return False


def pod_faults(template: dict[str, Any]) -> list[str]:
    """What the API server would refuse in a pod of this template; empty when it is valid."""
    spec = template["spec"]
    volumes = [volume["name"] for volume in spec["volumes"]]
    faults = metadata_faults(template["metadata"])
    faults += [f"volume {name!r}" for name in volumes if not is_rfc1123_label(name)]
    faults += [f"secret {s!r}" for s in spec["imagePullSecrets"] if not _is_object(s["name"])]
    faults += _label_faults(spec.get("nodeSelector", {}))
    if len(set(volumes)) != len(volumes):
        faults.append(f"a volume name twice: {volumes}")
    for container in spec["containers"]:
        faults += _container_faults(container, volumes)
    return faults


def metadata_faults(metadata: dict[str, Any]) -> list[str]:
    faults = _label_faults(metadata.get("labels", {}))
    for key, value in metadata.get("annotations", {}).items():
        if not is_label_key(key) or not is_text(value):
            faults.append(f"annotation {key!r}: {value!r}")
    return faults


def _container_faults(container: dict[str, Any], volumes: list[str]) -> list[str]:
    faults = [] if is_rfc1123_label(container["name"]) else [f"container {container['name']!r}"]
    faults += [f"env {e!r}" for e in container["env"] if not is_env_name(e["name"])]
    faults += [f"env {e!r}" for e in container["env"] if not is_text(e.get("value", ""))]
    faults += [f"command {word!r}" for word in container["command"] if not is_text(word)]
    mounts = container["volumeMounts"]
    paths = [mount["mountPath"] for mount in mounts]
    faults += [f"mount {m!r}" for m in mounts if m["name"] not in volumes]
    faults += [f"mount path {path!r}" for path in paths if not is_mount_path(path)]
    faults += [f"sub-path {m!r}" for m in mounts if ".." in m.get("subPath", "").split("/")]
    if len(set(paths)) != len(paths):
        faults.append(f"a mount path twice: {paths}")
    resources = container.get("resources", {})
    for amounts in resources.values():
        faults += [f"resource {name!r}" for name in amounts if not is_resource(name)]
        faults += [f"quantity {q!r}" for q in amounts.values() if not is_quantity(q)]
    return faults


def _label_faults(labels: dict[str, str]) -> list[str]:
    return [
        f"label {key!r}: {value!r}"
        for key, value in labels.items()
        if not is_label_key(key) or not is_label_value(value)
    ]


def _is_object(name: str) -> bool:
    return bool(name) and is_rfc1123_subdomain(name)


def _is_name(name: str) -> bool:
    return 1 <= len(name) <= 63 and _edges(name, _ALNUM) and set(name) <= _ALNUM | set("-_.")


def _edges(text: str, allowed: set[str]) -> bool:
    return text[0] in allowed and text[-1] in allowed
