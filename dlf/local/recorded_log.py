"""The log of one container on disk, written and read in pieces, so that it stays bounded.

Each line begins with its time and a blank, as a kubelet's. A log is `NAME.0`, `NAME.1`, ...: when
a piece is full, lines go on in the next, and only the newest pieces are kept. A piece is complete
as soon as there is a next one.
"""

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dlf.logs.open_files import OpenFiles

PIECE_BYTES = 8 << 20
KEPT_PIECES = 2
_READ_BYTES = 1 << 16  # of each log, of which there may be many


class LogPieces:
    """Writes the logs of a run.

    Args:
        directory: is there, and has none of the logs yet.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers: dict[str, int] = {}  # of the piece that is written, by log
        self._files = OpenFiles()

    def write(self, name: str, lines: Sequence[bytes]) -> None:
        """Append whole lines to a log.

        Raises:
            OSError: the file system refuses.
        """
        number = self._numbers.get(name, 0)
        path = _piece(self._directory, name, number)
        file = self._files.get(path)
        file.write(b"\n".join((*lines, b"")))
        if file.tell() >= PIECE_BYTES:
            self._files.close(path)
            self._numbers[name] = number + 1
            _piece(self._directory, name, number + 1 - KEPT_PIECES).unlink(missing_ok=True)

    def close(self) -> OSError | None:
        """Close the files; an error of it means that something was not written."""
        return self._files.close_all()


class LogReader:
    """Reads one log from the oldest piece that is kept, while it may still be written.

    Attributes:
        has_gap: lines were not there any more when they were to be read.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._number = -1
        self._file: BinaryIO | None = None
        self.has_gap = False

    def read(self) -> bytes:
        """The next bytes; b"" when there are no more now."""
        while self._file or self._open():
            if chunk := self._read():
                return chunk
            if self._next() is None:
                return b""
            if chunk := self._read():  # what was written before the next piece was begun
                return chunk
            self.close()
        return b""

    def close(self) -> None:
        """Let go of the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _read(self) -> bytes:
        return self._file.read(_READ_BYTES) if self._file else b""

    def _open(self) -> bool:
        """Open the next piece; False if there is none."""
        while (number := self._next()) is not None:
            with suppress(FileNotFoundError):  # it has become too old just now
                self._file = _piece(self._directory, self._name, number).open("rb", buffering=0)
                self.has_gap |= number > self._number + 1
                self._number = number
                return True
        return False

    def _next(self) -> int | None:
        """The number of the oldest piece after the one that is read."""
        if _piece(self._directory, self._name, self._number + 1).exists():
            return self._number + 1
        if self._file and os.fstat(self._file.fileno()).st_nlink:
            return None
        prefix = f"{self._name}."
        there = [path.name for path in self._directory.glob(f"{glob.escape(prefix)}*")]
        numbers = [name.removeprefix(prefix) for name in there]
        found = [int(number) for number in numbers if number.isdecimal()]
        return min((number for number in found if number > self._number), default=None)


def _piece(directory: Path, name: str, number: int) -> Path:
    return directory / f"{name}.{number}"
