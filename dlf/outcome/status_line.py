"""The line at the bottom of a terminal that says how far a job is."""

from collections.abc import Mapping

from dlf.task.scalars import format_duration

INTERVAL_SECONDS = 1.0
"""Between two looks at the job."""


def status_line(seconds: float, pods: Mapping[str, int], waiting: str) -> str:
    """`dlf: 1m12s, 2 running, 1 pending; waiting for 1 of 3 pods: ...`.

    Args:
        seconds: since dlf began to follow the job.
        pods: how many are in which state, the most important state first.
        waiting: what is waited for, or "".
    """
    parts = [format_duration(int(seconds))]
    parts += [f"{count} {state}" for state, count in pods.items() if count]
    return f"dlf: {', '.join(parts)}" + (f"; {waiting}" if waiting else "")
