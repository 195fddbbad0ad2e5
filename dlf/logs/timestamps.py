"""The timestamp in front of each line: found, compared and cut off for many lines at once.

Kubelet writes `2006-01-02T15:04:05.000000000Z07:00`, in the zone of its node, then one blank.
Other implementations of the API trim the fraction or write no timestamp at all, and kubelet's
own remarks in a log have none; such lines are kept as they are.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import itemgetter

_TIMESTAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) ")
FRAGMENT_BYTES = 16 << 10
"""Container runtimes store a longer line in fragments of this size."""
SECOND_WIDTH = 19  # bytes of a timestamp up to its whole second


def split(line: bytes) -> tuple[bytes, bytes]:
    """Timestamp and message of a line; the timestamp is b"" when there is none."""
    found = _TIMESTAMP.match(line)
    if found is None or previous_second(line[:SECOND_WIDTH]) is None:
        return b"", line
    return line[: found.end() - 1], line[found.end() :]


def join_fragments(message: bytes, timestamp: bytes) -> bytes:
    """A message without the timestamps that kubelets before 1.27 put before each of its fragments.

    A timestamp is taken for theirs where a fragment begins, if it is of the same form and not
    older than that of the line (kubernetes#77603).
    """
    if len(message) <= FRAGMENT_BYTES:
        return message
    parts = []
    at = 0
    while len(message) - at > FRAGMENT_BYTES:
        end = at + FRAGMENT_BYTES
        repeated, _ = split(message[end : end + len(timestamp) + 1])
        if len(repeated) != len(timestamp) or repeated < timestamp:
            break
        parts.append(message[at:end])
        at = end + len(repeated) + 1
    return b"".join((*parts, message[at:])) if parts else message


def common_timestamp_width(lines: Sequence[bytes]) -> int:
    """Bytes of the timestamp and its blank, if all lines have the same there; otherwise 0.

    Only the first line is matched in full, of the others the zone's last byte and the blank: this
    is asked for every batch, and 20 times as fast.
    """
    found = _TIMESTAMP.match(lines[0])
    if found is None:
        return 0
    width = found.end()
    if len(lines) == 1:
        return width
    try:
        marks = bytes(map(itemgetter(width - 1), lines))
        zones = bytes(map(itemgetter(width - 2), lines))
    except IndexError:
        return 0
    same = marks.count(b" ") == len(lines) == zones.count(lines[0][width - 2])
    return width if same else 0


@lru_cache(maxsize=256)
def previous_second(second: bytes) -> bytes | None:
    """The whole second before this one, in the same form; None when it is no time at all."""
    try:
        then = datetime.fromisoformat(second.decode()) - timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
    return then.isoformat().encode()


def zone(timestamp: bytes) -> bytes:
    """The zone of a timestamp: `Z` or `+08:00`."""
    return timestamp[-1:] if timestamp.endswith(b"Z") else timestamp[-6:]


def is_before(timestamp: bytes, second: str) -> bool:
    """Whether the timestamp of a line is of an earlier second than this RFC 3339 time.

    False also where one of them is no time.
    """
    try:
        then = datetime.fromisoformat((timestamp[:SECOND_WIDTH] + zone(timestamp)).decode())
        return then < datetime.fromisoformat(second)
    except (ValueError, TypeError):
        return False
