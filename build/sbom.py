"""Print a CycloneDX 1.6 list of every part of the executables in dist/.

Parts come from sources.toml. Linked parts have the scope "required"; tools that only made the
executable, such as the compiler, "excluded".
"""

import hashlib
import json
import sys
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from image import CHECKOUT, CREATED, version
from sources import PINS
from toolchain import TARGETS


def _component(origin: str, name: str, pin: dict[str, Any]) -> dict[str, Any]:
    component = {
        "type": "library" if pin["role"] == "linked" else "application",
        "bom-ref": f"{origin}/{name}",
        "name": name,
        "version": pin["version"],
        "scope": "required" if pin["role"] == "linked" else "excluded",
        "licenses": [_license(pin["license"])],
    }
    package = f"{name}@{quote(pin['version'], safe='')}"
    match origin:
        case "debian":
            purl = f"pkg:deb/debian/{package}?arch=source&distro=trixie"
        case "pypi":
            purl = f"pkg:pypi/{package.replace('_', '-')}"
        case _:
            return component | {"description": f"comes inside {pin['within']}"}
    return component | {"purl": purl, "hashes": [{"alg": "SHA-256", "content": pin["sha256"]}]}


def _license(expression: str) -> dict[str, Any]:
    if " " in expression:
        return {"expression": expression}
    return {"license": {"id": expression}}


def bill(programs: dict[str, str]) -> dict[str, Any]:
    """Return the whole document; `programs` maps file name to sha256."""
    parts = [
        _component(origin, name, pin) for origin, pins in PINS.items() for name, pin in pins.items()
    ]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": CREATED,
            "component": {
                "type": "application",
                "bom-ref": "dlf",
                "name": "dlf",
                "version": version(),
                "licenses": [_license("Apache-2.0")],
                "components": [
                    {
                        "type": "file",
                        "bom-ref": name,
                        "name": name,
                        "hashes": [{"alg": "SHA-256", "content": content}],
                    }
                    for name, content in programs.items()
                ],
            },
        },
        "components": parts,
        "dependencies": [{"ref": "dlf", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    # The same parts give the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {**content, "serialNumber": f"urn:uuid:{number}"}


def main() -> None:
    """Print the list for the executables in dist/."""
    dist = CHECKOUT / "dist"
    programs = {}
    for name in TARGETS:
        path: Path = dist / f"dlf-linux-{name}"
        programs[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    json.dump(bill(programs), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
