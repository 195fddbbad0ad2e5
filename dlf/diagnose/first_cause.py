"""Which of the failures that came together was the cause: not one whose log marks a victim."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from dlf.outcome.outcome import PodFailure

WINDOW = timedelta(seconds=45)
"""After the first failure: in it, a victim's container may end before that of the cause.

A process that loses its peer fails within a second. The launcher of the peer looks every 5 seconds
at most (torchrun; paddle: 2), and then gives its other processes 30 seconds to end (both), before
its own container ends. The rest is for clocks of nodes that differ.
"""

# SIGABRT and SIGTERM, as a shell and as launchers in Python pass them on (256 minus the signal).
_STOPPED = {134, 143, 250, 241}


def victims_last(failures: Sequence[PodFailure]) -> tuple[PodFailure, ...]:
    """Of the failures in the window after the first, put the victims behind the others.

    A victim is one whose log shows nothing but the loss of a peer, and one that SIGTERM or SIGABRT
    ended without a word: NCCL's watchdog and gloo abort. Where all are victims, time decides.

    Args:
        failures: the first in time first.
    """
    first = _time(failures[0]) if failures else None
    if first is None:
        return tuple(failures)
    times = [_time(each) for each in failures]
    wave = [each for each, time in zip(failures, times, strict=True) if _is_in(time, first)]
    later = [each for each in failures if each not in wave]
    return (*sorted(wave, key=lambda each: (each.stopped, _is_victim(each))), *later)


def _is_in(time: datetime | None, first: datetime) -> bool:
    return time is not None and time - first <= WINDOW


def _is_victim(failure: PodFailure) -> bool:
    is_silent = not failure.evidence.error and failure.exit_code in _STOPPED
    is_plain = failure.reason in {"", "Error"}  # the cluster gives no reason of its own
    return is_plain and (failure.evidence.is_victim or is_silent)


def _time(failure: PodFailure) -> datetime | None:
    try:
        return datetime.fromisoformat(failure.finished_at)
    except ValueError:
        return None
