"""`--log_dir`: one file per container instance, with its messages as they were written."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dlf.errors import UsageError
from dlf.logs.instances import Target

_MAX_OPEN_FILES = 64  # files open at a time, well below any descriptor limit


class LogFiles:
    """Writes `POD.CONTAINER.log`, for restarted containers `POD.CONTAINER.N.log`.

    A file is begun anew by the first lines of its container: logs are read from their start.

    Args:
        directory: created when it is not there.
        notice: told once, when the file system refuses; from then on nothing is written.

    Raises:
        UsageError: the directory cannot be created.
    """

    def __init__(self, directory: str, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._failed = False
        self._directory = Path(directory)
        self._open: OrderedDict[str, BinaryIO] = OrderedDict()
        self._begun: set[str] = set()
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--log_dir `{directory}`: {error.strerror}") from error

    def write(self, target: Target, lines: bytes) -> None:
        """Append whole lines."""
        if self._failed:
            return
        try:
            self._file(target).write(lines)
        except OSError as error:
            self._failed = True
            self._notice(f"--log_dir `{self._directory}`: {error.strerror}; no more is written")

    def close(self) -> None:
        """Close every file."""
        while self._open:
            self._open.popitem()[1].close()

    def _file(self, target: Target) -> BinaryIO:
        again = f".{target.restart}" if target.restart else ""
        name = f"{target.pod}.{target.container}{again}.log"
        file = self._open.get(name)
        if file is None:
            file = (self._directory / name).open("ab" if name in self._begun else "wb", buffering=0)
            self._begun.add(name)
            self._open[name] = file
            if len(self._open) > _MAX_OPEN_FILES:
                self._open.popitem(last=False)[1].close()
        else:
            self._open.move_to_end(name)
        return file
