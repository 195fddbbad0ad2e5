"""Roots made of Debian's packages, unpacked without running anything of theirs."""

import subprocess
from pathlib import Path

from sources import apt_options, archives


def unpack(root: Path, suite: str, packages: list[str]) -> None:
    """Unpack packages of a Debian release into a directory; what they depend on is not followed."""
    folder = root.with_name(f"{root.name}-packages")
    folder.mkdir()
    options = [
        *apt_options(folder / "apt", "deb", archives(suite)[0]),
        "-oDir::State::status=/dev/null",  # else apt prefers the versions installed here
    ]
    for words in (["update"], ["download", *packages]):
        subprocess.run(
            ["apt-get", *options, *words], cwd=folder, stdout=subprocess.DEVNULL, check=True
        )
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
