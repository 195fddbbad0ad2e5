"""Bytes to lines, and timestamps off them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs.kubelet_model import chunks

from dlf.logs.lines import Batch, LineBuffer
from dlf.logs.timestamps import (
    FRAGMENT_BYTES,
    common_timestamp_width,
    previous_second,
    split,
    zone,
)


@given(st.binary(max_size=2000), st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_lines_come_whole_for_any_chunking(data: bytes, sizes: list[int]) -> None:
    """Every block ends with a newline; blocks and rest add up to what came."""
    lines = LineBuffer()
    blocks = [block for chunk in chunks(data, sizes) if (block := lines.feed(chunk))]
    assert all(block.endswith(b"\n") for block in blocks)
    whole, newline, partial = data.rpartition(b"\n")
    assert whole + newline == b"".join(blocks)
    assert len(partial) == lines.size
    assert partial == lines.flush()
    assert 0 == lines.size


def test_lines_are_ended_by_newline_only() -> None:
    """A progress bar is one line, and so is whatever Unicode calls a line break."""
    lines = LineBuffer()
    text = "1%\r2%\r3%\x0b\x0c\x1c\x85\u2028 \n".encode()
    assert text == lines.feed(text)


def test_lines_of_ten_megabytes_are_joined_once() -> None:
    """A long line costs memory for itself, not for every chunk it came in."""
    lines = LineBuffer()
    for _ in range(640):
        assert b"" == lines.feed(b"x" * 16384)
    assert 640 * 16384 == lines.size
    assert 640 * 16384 + 2 == len(lines.feed(b"y\n"))


@pytest.mark.parametrize(
    ("line", "timestamp", "message"),
    [
        (
            b"2026-01-02T03:04:05.000000001Z hello world",
            b"2026-01-02T03:04:05.000000001Z",
            b"hello world",
        ),
        (b"2026-01-02T03:04:05.5+08:00 x", b"2026-01-02T03:04:05.5+08:00", b"x"),
        (b"2026-01-02T03:04:05Z ", b"2026-01-02T03:04:05Z", b""),
        (b"2026-01-02T03:04:05Zx", b"", b"2026-01-02T03:04:05Zx"),
        (b"2026-13-02T03:04:05Z x", b"", b"2026-13-02T03:04:05Z x"),
        (b"unable to retrieve container logs", b"", b"unable to retrieve container logs"),
        (b"", b"", b""),
    ],
)
def test_stamp_is_split_off_where_there_is_one(
    line: bytes, timestamp: bytes, message: bytes
) -> None:
    """A timestamp, a blank, the message; anything else is all message."""
    assert (timestamp, message) == split(line)


def test_timestamp_width_is_common_only_when_all_lines_have_it() -> None:
    """Lines of one form are cut together; one line of another form and none is."""
    line = b"2026-01-02T03:04:05.000000001Z x"
    assert 31 == common_timestamp_width([line, line])
    assert 0 == common_timestamp_width([line, b"short"])
    assert 0 == common_timestamp_width([line, b"2026-01-02T03:04:05.1Z x and more of the line"])
    assert 0 == common_timestamp_width([b"no stamp", line])


def test_previous_second_crosses_days_and_refuses_what_is_no_time() -> None:
    """Seconds are counted by the calendar."""
    assert b"2024-02-29T23:59:59" == previous_second(b"2024-03-01T00:00:00")
    assert previous_second(b"2024-02-30T00:00:00") is None
    assert previous_second(b"0001-01-01T00:00:00") is None


def test_zone_is_what_follows_the_time() -> None:
    """sinceTime is asked for in the zone that the node writes."""
    assert b"Z" == zone(b"2026-01-02T03:04:05.1Z")
    assert b"-05:30" == zone(b"2026-01-02T03:04:05-05:30")


STAMPS = [b"2026-01-02T03:04:05.00000000%dZ" % number for number in range(4)]


@pytest.mark.parametrize("size", [0, 1, FRAGMENT_BYTES - 1, FRAGMENT_BYTES, 2 * FRAGMENT_BYTES + 7])
@pytest.mark.parametrize("width", [len(STAMPS[0]) + 1, 0])
def test_timestamps_inside_a_long_line_are_taken_out(size: int, width: int) -> None:
    """Old kubelets stamp each fragment of 16 KB: the message is what the container has written."""
    message = bytes(97 + at % 23 for at in range(size))
    fragments = [message[at : at + FRAGMENT_BYTES] for at in range(0, size, FRAGMENT_BYTES)]
    pairs = zip(STAMPS, fragments or [b""], strict=False)
    served = b"".join(b"%b %b" % pair for pair in pairs)
    short = STAMPS[0] + b" short"
    assert [b"short", message] == Batch([short, served], timestamp_width=width).messages()


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param(b"2026-01-02T03:04:04.999999999Z ", id="older"),
        pytest.param(b"2026-01-02T03:04:05Z ", id="of another form"),
        pytest.param(b"x2026-01-02T03:04:05.000000001Z ", id="not where a fragment begins"),
    ],
)
def test_timestamps_that_a_container_has_written_are_kept(inside: bytes) -> None:
    """Only what kubelet would have put there is taken out."""
    message = b"y" * FRAGMENT_BYTES + inside + b"z"
    assert [message] == Batch([STAMPS[0] + b" " + message]).messages()
