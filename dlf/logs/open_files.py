"""Many files that are appended to, of which only some are open at a time."""

from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO

MAX_OPEN_FILES = 64  # well below any limit of descriptors


class OpenFiles:
    """Opens files without a buffer, and closes those that were not written for longest."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, BinaryIO] = OrderedDict()

    def get(self, path: Path, *, anew: bool = False) -> BinaryIO:
        """The file, to append to it; `anew`: without what it held, unless it is open.

        Raises:
            OSError: it cannot be opened, or another one could not be closed.
        """
        file = self._open.get(path)
        if file is None:
            file = path.open("wb" if anew else "ab", buffering=0)
            self._open[path] = file
            if len(self._open) > MAX_OPEN_FILES:
                self._open.popitem(last=False)[1].close()
        else:
            self._open.move_to_end(path)
        return file

    def close(self, path: Path) -> None:
        """Close one file.

        Raises:
            OSError: a file system over the network refuses only now what was written.
        """
        self._open.pop(path).close()

    def close_all(self) -> OSError | None:
        """Close every file; the last error of it."""
        last = None
        while self._open:
            try:
                self._open.popitem()[1].close()
            except OSError as error:
                last = error
        return last
