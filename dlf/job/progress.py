"""Lines about the pods' progress: few, however many pods there are."""

import asyncio
from collections.abc import Callable, Iterable

GATHER_SECONDS = 0.5
"""Changes within this time are reported together."""

NAMED_PODS = 4
"""Pods with the same kind of change that are named; of more, only the number is given."""


class Progress:
    """The changes of pods that were not reported yet.

    Args:
        due: called when it is time to take the lines.
    """

    def __init__(self, due: Callable[[], None]) -> None:
        self._due = due
        self._timer: asyncio.TimerHandle | None = None
        self._states: dict[str, str] = {}
        self._changes: dict[str, str] = {}

    def note(self, pod: str, state: str) -> None:
        """Take note of a pod's state in words, such as `failed: exit code 7`."""
        if self._states.get(pod) != state:
            self._states[pod] = self._changes[pod] = state
            if not self._timer:
                self._timer = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._due)

    def take(self, count: str) -> list[str]:
        """The lines to tell now; `count` says how far the job is, such as `3 of 8 running`."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        lines = progress_lines(self._changes.items(), count)
        self._changes.clear()
        return lines


def progress_lines(changes: Iterable[tuple[str, str]], count: str) -> list[str]:
    """The lines for changes, pod and new state, that came together."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for pod, state in changes:
        kind = state.partition(":")[0].partition(",")[0].partition(" on ")[0]
        groups.setdefault(kind, []).append((pod, state))
    lines = []
    for kind, members in groups.items():
        if len(members) <= NAMED_PODS:
            named = members
        else:
            named = members[:NAMED_PODS] if kind == "failed" else []
        lines += [f"pod {pod} {state}" for pod, state in named]
        if more := len(members) - len(named):
            lines.append(f"{more} {'more ' if named else ''}pods {kind}")
    return [f"{line} ({count})" for line in lines]
