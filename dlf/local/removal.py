"""Runs that are kept on disk go: when a user deletes them, and to make room for the next."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dlf.errors import UsageError
from dlf.local.process_identity import ProcessIdentity
from dlf.local.reaper import kill
from dlf.local.recorder import LOGS, Recorder
from dlf.local.run_record import RunHeader
from dlf.local.stored_runs import Launcher, StoredRun, stored_runs

KEPT_RUNS = 20
"""Runs that are kept; the oldest ended ones make room when another one begins."""

KEPT_BYTES = 1 << 30
"""Bytes of the ended runs that are kept, beside the newest: homes often have a quota."""

FORGOTTEN = timedelta(days=30)
"""A run elsewhere without an end of which nothing came for so long counts as ended; and what is
no run, as after a power cut, goes when it is older."""

STOP_SECONDS = 20.0
"""Seconds that a dlf gets after SIGTERM: it gives its pods 3, and the reader of its output 3."""

_POLL_SECONDS = 0.05


def open_record(
    directory: Path | None, header: RunHeader, notify: Callable[[str], None]
) -> Recorder:
    """Begin the record of a run; the oldest runs of which nothing is left make room.

    Args:
        directory: of all runs; None to keep nothing.
        header: of the run.
        notify: prints a line of dlf's own.
    """
    try:
        runs = stored_runs(directory)
    except UsageError:
        runs = []  # what is wrong with the directory is said when it is written
    ended = [run for run in runs if _has_ended(run)]
    if any(run.history.header.name == header.name for run in runs if run not in ended):
        notify(f"another job {header.name} goes on: this one is not kept for dlf list")
        directory = None
    _remove_damaged(directory, runs)
    kept_bytes = 0
    for number, run in enumerate(ended):
        kept_bytes += run.size() if number else 0
        if number >= KEPT_RUNS - 1 or kept_bytes > KEPT_BYTES:
            _remove(run.directory)
    return Recorder(directory, header, notify)


def delete_run(run: StoredRun, notify: Callable[[str], None]) -> bool:
    """Stop a run if it goes on, kill what is left of it, and remove its record.

    Returns:
        Whether nothing of it is left; else what is left was said.

    Raises:
        UsageError: its processes are out of reach.
    """
    header = run.history.header
    if run.launcher is Launcher.ELSEWHERE and not run.history.end:
        raise UsageError(
            f"{header.name!r} was started on {header.place.host}, whose processes cannot be seen"
            " from here",
            f"delete it there; or remove {run.directory}, if that is no more",
        )
    notify(f"deleting {run.name}")
    if run.launcher is Launcher.RUNNING and not run.history.end:  # else it ends by itself
        _stop(run)
        run.refresh()
    if run.launcher is not Launcher.ELSEWHERE:
        kill(header.mark, run.sessions())
        if left := run.processes():
            pids = ", ".join(map(str, sorted(left)))
            notify(f"{run.name} is not gone: SIGKILL does not end its processes {pids}")
            return False
        if Path(header.scratch).name == f"dlf-{header.mark}":
            shutil.rmtree(header.scratch, ignore_errors=True)
    _remove(run.directory)
    if run.directory.exists():
        notify(f"{run.name} has ended, and {run.directory} cannot be removed: whose is it?")
        return False
    return True


def _has_ended(run: StoredRun) -> bool:
    if run.launcher is Launcher.ELSEWHERE and not run.history.end:
        return run.written_at() < datetime.now(UTC) - FORGOTTEN
    return run.history.end is not None or run.ended_at() is not None


def _remove_damaged(directory: Path | None, runs: Sequence[StoredRun]) -> None:
    """Remove what is no run, or one of a later version, and old: no command ever shows it."""
    shown = {run.directory for run in runs}
    oldest = (datetime.now(UTC) - FORGOTTEN).timestamp()
    with suppress(OSError):
        for path in directory.iterdir() if directory else ():
            if path not in shown and path.lstat().st_mtime < oldest:
                _remove(path)


def _remove(directory: Path) -> None:
    """Remove a record, the logs first: what a kill leaves of it is still listed."""
    shutil.rmtree(directory / LOGS, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def _stop(run: StoredRun) -> None:
    """SIGTERM, which lets the dlf stop its pods, and SIGKILL if it does not end."""
    launcher: ProcessIdentity = run.history.header.launcher
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        with suppress(ProcessLookupError):
            if launcher.is_alive():
                _signal(run, launcher.pid, number)
        while launcher.is_alive():
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)


def _signal(run: StoredRun, pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except PermissionError:
        raise UsageError(
            f"{run.name} was started by another user, as process {pid}", "let that user delete it"
        ) from None
