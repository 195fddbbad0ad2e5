"""`dlf install DEST`: copy the running executable, for an init container that brings it."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from dlf import build_info
from dlf.commands.arguments import read
from dlf.edge import Edge
from dlf.errors import ExitCode, UsageError
from dlf.task import scalars
from dlf.task.flag import Flag

# Without /proc the executable reads its path from the auxiliary vector.
_SELF = Path("/proc/self/exe")
_NAME = "dlf"
_MODE = 0o555


class Notices(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed on stderr."""

    quiet: Annotated[bool, Flag("say nothing when it is done", scalars.switch, form="switch")] = (
        False
    )


GROUPS = (("Notices", Notices),)


def run(argv: Sequence[str], edge: Edge) -> ExitCode:
    """Copy it to a file, or into a directory as `dlf`; others see all of it or nothing."""
    parsed = read(argv, edge, "dlf install DEST", GROUPS)
    if parsed is None:
        return ExitCode.SUCCEEDED
    (destination,), (notices,) = parsed
    if not build_info.TARGET:
        raise UsageError(
            "this dlf is not the executable, and cannot copy itself", "use the image of dlf"
        )
    try:
        copied = install(_SELF.readlink(), Path(destination))
    except OSError as error:
        raise UsageError(f"cannot install to {destination!r}: {error.strerror}") from None
    if not notices.quiet:
        edge.notify(f"installed {copied}")
    return ExitCode.SUCCEEDED


def install(source: Path, destination: Path) -> Path:
    """Copy source to destination atomically, readable and executable by all; the path of the copy.

    Raises:
        OSError: it cannot be read or written.
    """
    if destination.is_dir():
        destination /= _NAME
    unfinished = destination.with_name(f".{destination.name}.{os.getpid()}")
    try:
        shutil.copyfile(source, unfinished)
        unfinished.chmod(_MODE)
        return unfinished.rename(destination)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
