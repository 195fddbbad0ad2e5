"""`--log_dir`: one file per container instance, with its messages as they were written."""

from collections.abc import Callable
from pathlib import Path

from dlf.errors import UsageError
from dlf.logs.instances import Target
from dlf.logs.open_files import OpenFiles


def file_name(target: Target) -> str:
    """The file of one instance.

    `POD.CONTAINER.log`; after a restart `POD.CONTAINER.1.log`; in a pod that was created again
    under its name `POD.CONTAINER.recreated-1.log` and `POD.CONTAINER.recreated-1.1.log`.
    """
    name = f"{target.pod}.{target.container}"
    if target.generation:
        name += f".recreated-{target.generation}"
    if target.restart:
        name += f".{target.restart}"
    return f"{name}.log"


class LogFiles:
    """Writes the files of all instances.

    A file is begun anew by the first lines of its instance: logs are read from their start.

    Args:
        directory: created when it is not there.
        notify: called once, when the file system refuses; from then on nothing is written.

    Raises:
        UsageError: the directory cannot be created.
    """

    def __init__(self, directory: str, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._failed = False
        self._directory = Path(directory)
        self._files = OpenFiles()
        self._begun: set[Path] = set()
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"--log_dir={directory!r} cannot be written: {error.strerror}"
            ) from error

    def write(self, target: Target, lines: bytes) -> None:
        """Append whole lines."""
        if self._failed:
            return
        path = self._directory / file_name(target)
        try:
            self._files.get(path, anew=path not in self._begun).write(lines)
            self._begun.add(path)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Close every file. A file system over the network may refuse only now what was written."""
        if error := self._files.close_all():
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            words = "files are incomplete, and no more is written"
            self._notify(f"--log_dir `{self._directory}`: {error.strerror}; {words}")
