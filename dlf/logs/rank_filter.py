"""Which ranks are printed in full, and what of the others comes through all the same: errors."""

import re
from collections.abc import Sequence

_ERROR = re.compile(
    rb"(?i:\b(?:error|fatal|critical|exception|traceback|panic|segmentation fault|core dumped"
    rb"|out of memory|oom|killed|aborted|assertion failed)\b)"
    rb"|[a-z](?:Error|Exception)\b",
)
_TRACEBACK = re.compile(rb"Traceback \(most recent call last\)")
_MAX_TRACEBACK_LINES = 200  # lines, so that a log of indented lines does not come through for ever


def is_selected(rank: int | None, chosen: Sequence[int], ranks: int) -> bool:
    """Whether a rank's lines are all printed.

    Args:
        rank: of the pod; None, where a role has no rank, is always printed.
        chosen: ranks to print, negative from the end; none means all.
        ranks: how many there are; 0 when unknown, then a negative rank chooses nobody.
    """
    if not chosen or rank is None:
        return True
    return rank in chosen or (ranks > 0 and rank - ranks in chosen)


class ErrorFilter:
    """Lets error lines through, and a Python traceback whole: up to its first unindented line."""

    def __init__(self) -> None:
        self._left = 0  # lines that may still belong to a traceback

    def select(self, messages: Sequence[bytes]) -> list[int]:
        """Indexes of the messages to print, in order."""
        if not self._left and not _ERROR.search(b"\n".join(messages)):
            return []
        selected = []
        for index, message in enumerate(messages):
            if self._left:
                self._left = self._left - 1 if message[:1] in {b" ", b"\t"} else 0
                selected.append(index)
            elif _ERROR.search(message):
                selected.append(index)
            if _TRACEBACK.search(message):
                self._left = _MAX_TRACEBACK_LINES
        return selected
