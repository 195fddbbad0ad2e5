"""The worker's temporary directory: the host file, the stack hook, `ssh` and `pdsh`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from dlf.errors import UsageError


class Scratch:
    """Created when it is first needed; only this user may write to it.

    Args:
        env: TMPDIR is tried first; then /tmp, /dev/shm, which dlf mounts in every training
            container, and the current directory.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        places = (env.get("TMPDIR", ""), "/tmp", "/dev/shm", os.curdir)  # noqa: S108
        self._places = [place for place in places if place]
        self._directory = ""
        self._owner = os.getpid()

    def directory(self) -> str:
        """Its path.

        Raises:
            UsageError: none of the places can be written to.
        """
        if not self._directory:
            name = f"dlf-worker-{os.urandom(8).hex()}"
            for place in self._places:
                path = f"{os.path.abspath(place)}/{name}"
                try:
                    os.mkdir(path, 0o700)
                except OSError:
                    continue
                self._directory = path
                break
            else:
                raise UsageError(
                    f"none of {', '.join(self._places)} can be written to in this container",
                    "mount a volume, such as an emptyDir, and set TMPDIR to its path",
                )
        return self._directory

    def folder(self, name: str) -> str:
        """A new directory in it."""
        path = f"{self.directory()}/{name}"
        os.mkdir(path, 0o700)
        return path

    def programs(self, names: Iterable[str], self_command: Sequence[str]) -> str:
        """A directory in it with programs that run this dlf under these names."""
        folder = self.folder("bin")
        for name in names:
            path = f"{folder}/{name}"
            if len(self_command) == 1:
                os.symlink(self_command[0], path)
            else:  # an interpreter and its arguments: argv[0] cannot say which program to be
                import shlex

                with open(path, "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\nexec {shlex.join(self_command)} {name} "$@"\n')
                os.chmod(path, 0o700)
        return folder

    def remove(self) -> None:
        """Delete it with its content, as far as possible; does nothing in a forked child."""
        if not self._directory or os.getpid() != self._owner:
            return
        for folder, folders, files in os.walk(self._directory, topdown=False):
            for name in (*files, *folders):  # a folder is gone by now, unless it is a link
                with suppress(OSError):
                    os.unlink(f"{folder}/{name}")
            with suppress(OSError):  # what left its process group may still write there
                os.rmdir(folder)
        self._directory = ""
