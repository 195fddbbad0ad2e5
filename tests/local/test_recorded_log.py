"""Logs on disk: in pieces, bounded, read while they are written."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlf.local import recorded_log
from dlf.local.recorded_log import LogPieces, LogReader
from dlf.logs.open_files import MAX_OPEN_FILES


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_log, "PIECE_BYTES", 100)


def read_all(reader: LogReader) -> bytes:
    parts = []
    while chunk := reader.read():
        parts.append(chunk)
    return b"".join(parts)


@given(
    writes=st.lists(
        st.tuples(st.lists(st.binary(max_size=60), min_size=1, max_size=3), st.booleans()),
        max_size=20,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reader_that_keeps_up_gets_every_byte(
    writes: list[tuple[list[bytes], bool]],
    small_pieces: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """However writes and reads take turns, if no piece is dropped before it was read."""
    directory = tmp_path_factory.mktemp("logs")
    pieces, reader = LogPieces(directory), LogReader(directory, "a.log")
    read, written, unread = b"", b"", 0
    for lines, reads in writes:
        pieces.write("a.log", lines)
        written += b"".join(line + b"\n" for line in lines)
        unread += 1
        if reads or unread == 1:  # two writes may fill the two pieces that are kept
            read += read_all(reader)
            unread = 0
    read += read_all(reader)
    assert (written, False) == (read, reader.has_gap)
    reader.close()
    pieces.close()


def test_log_is_bounded(small_pieces: None, tmp_path: Path) -> None:
    """The newest pieces are kept; a late reader is told that lines are missing."""
    pieces = LogPieces(tmp_path)
    for number in range(100):
        pieces.write("a.log", [b"line %04d" % number])
    reader = LogReader(tmp_path, "a.log")
    lines = read_all(reader).splitlines()
    reader.close()
    assert [b"line %04d" % number for number in range(90, 100)] == lines
    assert reader.has_gap
    pieces.write("a.log", [b"in the next piece"])
    pieces.close()
    assert ["a.log.10", "a.log.9"] == sorted(path.name for path in tmp_path.iterdir())


def test_reader_that_falls_behind_finds_a_gap(small_pieces: None, tmp_path: Path) -> None:
    """It goes on with the oldest piece that is still there."""
    pieces, reader = LogPieces(tmp_path), LogReader(tmp_path, "a.log")
    pieces.write("a.log", [b"first"])
    assert b"first\n" == read_all(reader)
    assert not reader.has_gap
    for number in range(100):
        pieces.write("a.log", [b"line %04d" % number])
    text = read_all(reader)
    reader.close()
    pieces.close()
    assert text.startswith(b"line 0000\n")  # of the piece that it had open
    assert text.endswith(b"line 0099\n")
    assert reader.has_gap


def test_reader_waits_for_a_log_that_has_not_begun(tmp_path: Path) -> None:
    """Also when another log's name begins in the same way, or is a pattern."""
    reader = LogReader(tmp_path, "a[0].log")
    pieces = LogPieces(tmp_path)
    pieces.write("a[0].log.more", [b"another"])
    pieces.write("a0.log", [b"another"])
    assert b"" == reader.read()
    pieces.write("a[0].log", [b"mine"])
    assert b"mine\n" == reader.read()
    reader.close()
    pieces.close()


def test_many_logs_are_written_in_turn(small_pieces: None, tmp_path: Path) -> None:
    """More than are open at a time."""
    names = [f"{number}.log" for number in range(3 * MAX_OPEN_FILES)]
    pieces = LogPieces(tmp_path)
    for turn in range(3):
        for name in names:
            pieces.write(name, [b"%d %s" % (turn, name.encode())])
    assert pieces.close() is None
    for name in names:
        reader = LogReader(tmp_path, name)
        assert b"".join(b"%d %s\n" % (turn, name.encode()) for turn in range(3)) == read_all(reader)
        reader.close()
