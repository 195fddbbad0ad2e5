"""The last lines of a log, in bounded bytes."""

from hypothesis import given
from hypothesis import strategies as st

from dlf.logs.log_end import MAX_BYTES_PER_LOG, MIN_BYTES_PER_LOG, TOTAL_BYTES, EndBudget, LogEnd

STAMP = b"2026-12-03T05:12:00.100000000Z "


def test_lines_come_back_in_order_however_they_came() -> None:
    """One by one, as live lines do, and in batches."""
    end = LogEnd(EndBudget())
    end.add([b"a", b"", b"b"])
    end.add_line(b"c\n")
    end.add([])
    end.add_line(b"d")
    end.add([b"%d" % n for n in range(100)])

    assert [b"a", b"", b"b", b"c", b"d", *(b"%d" % n for n in range(100))] == end.lines()


@given(st.lists(st.lists(st.integers(0, 5000), max_size=200), max_size=60))
def test_the_last_lines_are_kept_and_memory_is_bounded(batches: list[list[int]]) -> None:
    """What is kept is the end of what came, as much as has a place, and little more."""
    budget = EndBudget()
    budget.limit = MIN_BYTES_PER_LOG
    end = LogEnd(EndBudget())
    end._budget = budget
    came = []
    for number, sizes in enumerate(batches):
        lines = [b"%d-%d " % (number, size) + b"x" * min(size, 2000) for size in sizes]
        came += lines
        if len(lines) == 1:
            end.add_line(lines[0] + b"\n")
        else:
            end.add(lines, b"".join(line + b"\n" for line in lines) if number % 2 else b"")

    kept = end.lines()

    size = sum(map(len, kept))
    assert came[len(came) - len(kept) :] == kept
    assert size <= MIN_BYTES_PER_LOG + 32 * 2048
    assert size >= min(MIN_BYTES_PER_LOG - len(kept) - 2048, sum(map(len, came)))


def test_of_long_lines_the_end_stays() -> None:
    r"""After the last `\r`; with the time stamp, so that it can be cut off as of others."""
    end = LogEnd(EndBudget())
    bar = b"\r".join(b"%3d%%|%b" % (n, b"#" * 70) for n in range(100))
    end.add([STAMP + bar + b"\rValueError: no data", STAMP + b"begin" + b"x" * 9000 + b"end"])
    end.add_line(STAMP + bar + b"\rValueError: no data\r\n")

    first, second, third = end.lines()

    assert STAMP + b"ValueError: no data" == first == third
    assert (STAMP + b"begin", b"end") == (second[:36], second[-3:])
    assert len(second) == len(STAMP) + 2048 + len(b" ... ")


def test_logs_share_the_memory() -> None:
    """Few logs keep much each, a thousand a little; none less than a traceback takes."""
    budget = EndBudget()
    limits = []
    for _ in range(4000):
        LogEnd(budget)
        limits.append(budget.limit)

    assert (limits[0], limits[999], limits[3999]) == (
        MAX_BYTES_PER_LOG,
        TOTAL_BYTES // 1000,
        MIN_BYTES_PER_LOG,
    )
