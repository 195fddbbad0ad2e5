"""Tables for terminals."""

import datetime
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one is not padded. Ends in a newline."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in cells
    )


def age(since: str, now: datetime.datetime) -> str:
    """The time since an RFC 3339 time, in its largest unit: `3d`, `5h`, `12m`, `40s`."""
    if not since:
        return ""
    seconds = max(int((now - datetime.datetime.fromisoformat(since)).total_seconds()), 0)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
