"""The last lines of a log, kept for the report of a failure, in a bounded number of bytes.

What ended a process stands above what its launcher and its peers say of that, often a hundred lines
and more. So as much is kept as memory allows: all logs of a job share `TOTAL_BYTES` bytes.
Lines are kept in blocks, since a log may bring millions of them and few are ever looked at.
"""

from collections import deque
from collections.abc import Sequence

from dlf.logs.timestamps import split

TOTAL_BYTES = 16 << 20
"""Bytes for all logs together; more than 2,048 logs have `MIN_BYTES_PER_LOG` each all the same."""
MAX_BYTES_PER_LOG = 32 << 10
MIN_BYTES_PER_LOG = 8 << 10
_BLOCK_LINES = 32
_MAX_LINE_BYTES = 2048
_USUAL_LINE_BYTES = 512  # on average: a block of longer lines is looked at line by line
_LINE_HEAD_BYTES = 512  # of a line that is cut, those from its beginning


class EndBudget:
    """The bytes that the ends of a job's logs share.

    Attributes:
        limit: bytes for each.
    """

    def __init__(self) -> None:
        self.limit = MAX_BYTES_PER_LOG
        self._logs = 0

    def add_log(self) -> None:
        """One log more has its share."""
        self._logs += 1
        self.limit = max(MIN_BYTES_PER_LOG, min(MAX_BYTES_PER_LOG, TOTAL_BYTES // self._logs))


class LogEnd:
    """The last lines of one log: `budget.limit` bytes, and less than one block more.

    A block is as large as what the API server sends at a time, and never larger than the limit.
    Of a line that is much longer than others, the text after its last carriage return is kept, and
    of that, if it is still longer than 2 KB, the beginning and, mostly, the end.
    """

    def __init__(self, budget: EndBudget) -> None:
        budget.add_log()
        self._budget = budget
        self._blocks: deque[bytes] = deque()
        self._size = 0

    def add_line(self, line: bytes) -> None:
        """Add one line; it may end in a newline. The same as `add`, and cheaper."""
        if len(line) > _MAX_LINE_BYTES:
            line = _cut(line)
        blocks = self._blocks
        blocks.append(line)
        size = self._size + len(line)
        while size - len(blocks[0]) >= self._budget.limit:
            size -= len(blocks.popleft())
        self._size = size

    def add(self, lines: Sequence[bytes], block: bytes = b"") -> None:
        """Add lines without newlines.

        Args:
            lines: in order.
            block: the same lines as one, each ended by a newline, if that is at hand: it costs
                nothing to keep.
        """
        limit = self._budget.limit
        if block and len(block) <= _USUAL_LINE_BYTES * len(lines):
            if len(block) > limit:
                block = block[block.find(b"\n", len(block) - limit - 1) + 1 :]
            blocks = [block]
        else:
            blocks = _blocks(lines, limit)
        self._blocks.extend(blocks)
        self._size += sum(map(len, blocks))
        self._trim()

    def lines(self) -> list[bytes]:
        """The kept lines in order, without newlines."""
        return [line for block in self._blocks for line in block.removesuffix(b"\n").split(b"\n")]

    def _trim(self) -> None:
        while self._blocks and self._size - len(self._blocks[0]) >= self._budget.limit:
            self._size -= len(self._blocks.popleft())


def _blocks(lines: Sequence[bytes], limit: int) -> list[bytes]:
    """The last of the lines, joined: not more blocks than are needed for `limit` bytes."""
    blocks: list[bytes] = []
    size, end = 0, len(lines)
    while end > 0 and size < limit:
        piece = lines[max(0, end - _BLOCK_LINES) : end]
        block = b"\n".join([line if len(line) <= _MAX_LINE_BYTES else _cut(line) for line in piece])
        blocks.append(block)
        size += len(block)
        end -= _BLOCK_LINES
    return blocks[::-1]


def _cut(line: bytes) -> bytes:
    r"""The timestamp, and of the message what is worth keeping."""
    timestamp, message = split(line.removesuffix(b"\n"))
    if b"\r" in message:
        message = next((part for part in reversed(message.split(b"\r")) if part.strip()), b"")
    if len(message) > _MAX_LINE_BYTES:
        message = (
            message[:_LINE_HEAD_BYTES] + b" ... " + message[_LINE_HEAD_BYTES - _MAX_LINE_BYTES :]
        )
    return timestamp + b" " + message if timestamp else message
