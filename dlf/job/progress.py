"""Lines on the pods' progress: few, however many pods there are."""

from collections.abc import Callable, Iterable

from dlf.job.timers import Timers

_GATHER = 0.5  # seconds in which changes are told together
_EACH = 4  # pods of one kind of change that are named; of more, only the number is told


class Progress:
    """The changes of pods that were not told yet.

    Args:
        due: called when it is time to take the lines.
    """

    def __init__(self, due: Callable[[], None]) -> None:
        self._due = due
        self._timers = Timers()
        self._known: dict[str, str] = {}
        self._changes: dict[str, str] = {}

    def note(self, pod: str, state: str) -> None:
        """Take note of a pod's state in words, such as `failed: exit code 7`."""
        if self._known.get(pod) != state:
            self._known[pod] = self._changes[pod] = state
            self._timers.start("due", _GATHER, self._due)

    def take(self, count: str) -> list[str]:
        """The lines to tell now; `count` says how far the job is, such as `3 of 8 running`."""
        self._timers.stop()
        told = lines(self._changes.items(), count)
        self._changes.clear()
        return told


def lines(changes: Iterable[tuple[str, str]], count: str) -> list[str]:
    """The lines for changes, pod and new state, that came together."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for pod, state in changes:
        kind = state.partition(":")[0].partition(",")[0].partition(" on ")[0]
        groups.setdefault(kind, []).append((pod, state))
    told = []
    for kind, members in groups.items():
        named = members if len(members) <= _EACH else members[:_EACH] if kind == "failed" else []
        told += [f"pod {pod} {state}" for pod, state in named]
        if more := len(members) - len(named):
            told.append(f"{more} {'more ' if named else ''}pods {kind}")
    return [f"{line} ({count})" for line in told]
