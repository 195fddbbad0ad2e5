"""What a kubelet writes into a log that is none of its lines."""

import pytest

from dlf.logs.node_messages import NodeMessages, cause

LINE = b"2026-01-02T03:04:05.000000001Z line\n"
WATCHER = b"failed to create fsnotify watcher: too many open files"
GONE = b"unable to retrieve container logs for containerd://5e1f"
UNKNOWN = b"the disk is on fire"


@pytest.mark.parametrize(
    ("has_timestamps", "blocks", "partial", "lines", "message"),
    [
        pytest.param(False, [LINE, LINE], b"", LINE * 2, b"", id="lines only"),
        pytest.param(False, [LINE, WATCHER + b"\n"], b"", LINE, WATCHER, id="a block of its own"),
        pytest.param(False, [LINE + WATCHER + b"\n"], b"", LINE, WATCHER, id="in one block"),
        pytest.param(False, [LINE], WATCHER, LINE, WATCHER, id="without newline"),
        pytest.param(False, [LINE, UNKNOWN + b"\n"], b"", LINE, UNKNOWN, id="unknown words"),
        pytest.param(False, [WATCHER + b"\n"], b"", b"", WATCHER, id="known, in place of a log"),
        pytest.param(False, [], GONE, b"", GONE, id="known, without newline, in place of a log"),
        pytest.param(True, [GONE + b"\n"], b"", b"", GONE, id="when the log is opened again"),
        pytest.param(True, [UNKNOWN + b"\n"], b"", b"", UNKNOWN, id="unknown, opened again"),
        pytest.param(
            False,
            [UNKNOWN + b"\n", UNKNOWN + b"\n"],
            b"",
            (UNKNOWN + b"\n") * 2,
            b"",
            id="no timestamps at all",
        ),
        pytest.param(
            True, [b"rest of a line\n", LINE], b"", b"rest of a line\n" + LINE, b"", id="rest"
        ),
        pytest.param(True, [b"rest\n" + LINE], b"", b"rest\n" + LINE, b"", id="rest, in one"),
        pytest.param(
            False,
            [LINE, UNKNOWN + b"\n", LINE],
            b"",
            LINE + UNKNOWN + b"\n" + LINE,
            b"",
            id="inside",
        ),
        pytest.param(True, [LINE], b"2026-01-02T03:", LINE, b"", id="half a timestamp"),
        pytest.param(False, [], b"no timestamps here", b"", b"", id="half a line"),
    ],
)
def test_node_messages_are_told_from_lines(
    has_timestamps: bool, blocks: list[bytes], partial: bytes, lines: bytes, message: bytes
) -> None:
    """Without timestamp at a stream's end, where lines have one: never printed, always told."""
    messages = NodeMessages()
    messages.begin(has_timestamps=has_timestamps)
    assert lines == b"".join(messages.hold(block) for block in blocks)
    assert message == messages.end(partial)


def test_cause_is_the_same_for_all_logs_that_it_meets() -> None:
    """Paths, IDs and numbers are left out."""
    first = b'failed to watch file "/var/log/pods/a/0.log": no space left on device'
    assert cause(first) == cause(first.replace(b"/a/", b"/b/"))
    assert cause(GONE) == cause(GONE.replace(b"5e1f", b"77aa"))
    assert cause(first) != cause(WATCHER)
