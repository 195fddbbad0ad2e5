"""The build machine's own tools, installed when they are absent and that is allowed."""

import importlib.util
import os
import shutil
import subprocess

from stage import BuildFailed

# Program -> the Debian package that has it. What compiles is zig, from PyPI.
_PROGRAMS = {
    "make": "make",
    "perl": "perl",
    "readelf": "binutils",
    "dpkg-source": "dpkg-dev",
    "xz": "xz-utils",
    "g++": "g++",  # never called, but SCons in Nuitka believes in no linker without it
    "patchelf": "patchelf",  # Nuitka will not start without it
}


def install() -> None:
    """Make sure that every program the build calls is there.

    Raises:
        BuildFailed: something is missing and this user may not install it; the text says what.
    """
    packages = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if importlib.util.find_spec("pip") is None:
        packages.append("python3-pip")
    if not packages:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        raise BuildFailed(f"missing tools; as root run: {' '.join(command)}")
    print(f"installing {' '.join(packages)}", flush=True)
    for words in (["apt-get", "update"], command):
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            raise BuildFailed(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}")
