"""Which ranks are printed in full, and what of the others comes through all the same: errors."""

import re
from collections.abc import Sequence

_ERROR = re.compile(
    rb"(?i:\b(?:error|fatal|critical|exception|traceback|panic|segmentation fault|core dumped"
    rb"|out of memory|oom|killed|aborted|assertion failed)\b)"
    rb"|[a-z](?:Error|Exception)\b",
)
_TRACEBACK = re.compile(rb"Traceback \(most recent call last\)")
_PROCESS = re.compile(rb"\[[^\]\s]+\](?:<std...>)?:|[\w.-]+: $")
_MAX_TRACEBACK_LINES = 200  # so that a log of indented lines does not come through for ever


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
    """Lets error lines through, and a Python traceback whole: up to its first unindented line.

    Launchers put the same prefix before each line of a process, such as `[rank1]: `: what stands
    before "Traceback" is cut off the lines that begin with it. Lines of others go between them.
    """

    def __init__(self) -> None:
        self._left = 0  # lines that may still belong to a traceback
        self._prefix = b""  # of its lines

    def select(self, messages: Sequence[bytes]) -> list[int]:
        """Indexes of the messages to print, in order."""
        if not self._left:
            text = b"\n".join(messages)
            if not (_ERROR.search(text) or _TRACEBACK.search(text)):
                return []
        selected = []
        for index, message in enumerate(messages):
            heading = _TRACEBACK.search(message)
            if heading:
                self._left = _MAX_TRACEBACK_LINES
                self._prefix = message[: heading.start()]
                selected.append(index)
            elif (self._left and self._continues(message)) or _ERROR.search(message):
                selected.append(index)
        return selected

    def _continues(self, message: bytes) -> bool:
        """Whether a line belongs to the traceback that was begun."""
        self._left -= 1
        if message.startswith(self._prefix):
            text = message[len(self._prefix) :]
        elif _PROCESS.match(self._prefix):  # a line of another process
            return False
        else:  # what stood before the heading was no prefix, but a line that did not end
            text = message
        if text[:1] not in {b" ", b"\t"}:
            self._left = 0
        return True
