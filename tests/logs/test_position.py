"""The resume cursor: each line once, in order, whatever happens to the streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs.kubelet_model import NANO, START, Line, Reader, Stream

from dlf.logs.lines import Gap
from dlf.logs.position import LogPosition

MESSAGES = st.one_of(
    st.sampled_from(
        [b"", b" ", b"\r", b"50%\r 51%\r", b"\xff\xfe", b"loss 0.1", b"2026-01-02T03:04:05Z x"]
    ),
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"\x85")),
    st.integers(200, 3000).map(lambda size: bytes(97 + at * at % 23 for at in range(size))),
)
STEPS = st.sampled_from([0, 0, 0, 1, NANO // 3, NANO, 2 * NANO, 60 * NANO])
SIZES = st.lists(st.integers(1, 400), min_size=1, max_size=5)


@st.composite
def logs(draw: st.DrawFn, late: int = NANO) -> list[Line]:
    """Lines in file order; each may be stamped up to `late` before the newest one so far."""
    clock = START
    lines = []
    for _ in range(draw(st.integers(0, 25))):
        clock += draw(STEPS)
        behind = draw(st.sampled_from([0, 0, 1, NANO // 2, NANO])) if late else 0
        lines.append(Line(clock - behind, draw(MESSAGES)))
    return lines


def streams(count: int) -> st.SearchStrategy[list[Stream]]:
    """Broken streams of a log that grows to `count` lines."""
    one = st.builds(Stream, last=st.integers(0, count), cut=st.integers(0, 4000), sizes=SIZES)
    return st.lists(one, max_size=8).map(lambda some: sorted(some, key=lambda s: s.last or 0))


@given(st.data(), logs(), st.sampled_from(["Z", "+08:00", "-05:00"]), st.booleans())
def test_cursor_prints_each_line_once_over_any_cuts(
    data: st.DataObject, log: list[Line], zone: str, trimmed: bool
) -> None:
    """Any chunking, any cuts, equal and unordered stamps, any bytes: the lines, each once."""
    reader = Reader()
    for stream in [*data.draw(streams(len(log))), Stream()]:
        reader.read(log, stream, zone, trimmed=trimmed)
    assert [line.message for line in log] == reader.printed
    assert [] == reader.gaps


@given(st.data(), logs(), st.integers(160, 700))
def test_cursor_prints_long_lines_in_pieces_that_add_up(
    data: st.DataObject, log: list[Line], last_lines: int
) -> None:
    """A line printed in pieces goes on, after a cut inside it, with the first byte not printed."""
    reader = Reader(last_lines)
    for stream in [*data.draw(streams(len(log))), Stream(sizes=data.draw(SIZES))]:
        reader.read(log, stream)
    assert [line.message for line in log] == reader.printed
    assert [] == reader.gaps


@pytest.mark.parametrize("at", range(101))
def test_cursor_resumes_inside_one_nanosecond(at: int) -> None:
    """A hundred lines with one stamp are each printed once, wherever among them the cut is."""
    log = [Line(START, b"line %d" % number) for number in range(100)]
    reader = Reader()
    reader.read(log, Stream(last=at))
    reader.read(log, Stream())
    assert [line.message for line in log] == reader.printed


@given(st.data(), st.lists(STEPS, max_size=25))
def test_cursor_tells_what_a_rotation_took(data: st.DataObject, steps: list[int]) -> None:
    """No line is repeated; after the first, lines are missing only inside a gap that is told."""
    times = [START + sum(steps[: number + 1]) + number for number in range(len(steps))]
    log = [Line(at, b"%d" % number) for number, at in enumerate(times)]
    reader = Reader()
    first = 0
    for stream in [*data.draw(streams(len(log))), Stream()]:
        end = len(log) if stream.last is None else stream.last
        first = data.draw(st.integers(first, max(first, end - 1)))
        reader.read(log, Stream(stream.last, stream.cut, stream.sizes, first))
    printed = [int(message) for message in reader.printed]
    assert sorted(set(printed)) == printed
    known = range(printed[0], len(log)) if printed else ()
    for number in set(known) - set(printed):
        timestamp = log[number].served().split(b" ")[0].decode()
        assert [gap for gap in reader.gaps if gap.after < timestamp < gap.before]


def test_cursor_reports_the_span_of_a_gap() -> None:
    """The file with the last printed line is gone: the gap reaches to the first line that came."""
    log = [Line(START + number * NANO // 10, b"%d" % number) for number in range(40)]
    reader = Reader()
    reader.read(log, Stream(last=10))
    reader.read(log, Stream(first=20))
    assert [b"%d" % number for number in [*range(10), *range(20, 40)]] == reader.printed
    assert [Gap("2026-01-02T03:04:05.900000000Z", "2026-01-02T03:04:07.000000000Z")] == reader.gaps


def test_cursor_sees_no_gap_when_the_last_printed_line_is_still_there() -> None:
    """A rotation that took only what was printed long ago is not worth a word."""
    log = [Line(START + number, b"%d" % number) for number in range(40)]
    reader = Reader()
    reader.read(log, Stream(last=30))
    reader.read(log, Stream(first=20))
    assert [line.message for line in log] == reader.printed
    assert [] == reader.gaps


def test_cursor_survives_a_clock_that_is_set_back() -> None:
    """Lines stamped an hour before the newest are found again by the last one printed."""
    log = [Line(START + number * NANO, b"before %d" % number) for number in range(5)]
    log += [Line(START - 3600 * NANO + number, b"after %d" % number) for number in range(5)]
    reader = Reader()
    reader.read(log, Stream(last=7))
    reader.read(log, Stream(last=9))
    reader.read(log, Stream())
    assert [line.message for line in log] == reader.printed
    assert [] == reader.gaps


def test_cursor_drops_the_rest_of_a_line_that_began_before() -> None:
    """At the head of a reopened stream a line without stamp belongs to one already printed."""
    position = LogPosition()
    position.accept(
        b"2026-01-02T03:04:05.900000000Z long line\n2026-01-02T03:04:07.000000000Z next\n"
    )
    position.reopen()
    batch = position.accept(
        b"of the long line\n"
        b"2026-01-02T03:04:07.000000000Z next\n"
        b"2026-01-02T03:04:08.000000000Z new\n"
    )
    assert [b"new"] == batch.messages()


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"no stamp at all\n", id="no stamp"),
        pytest.param(b"9999-99-99T99:99:99Z not a time\n", id="not a time"),
        pytest.param(b"0001-01-01T00:00:00Z no second before\n", id="first second of all"),
    ],
)
def test_cursor_prints_lines_it_cannot_count(block: bytes) -> None:
    """A server without timestamps is printed as it is, and asked for everything again."""
    position = LogPosition()
    assert [block[:-1]] == position.accept(block).messages()
    assert "" == position.since
    assert [b"x"] == position.accept(b"2026-01-02T03:04:07.5Z x\n").messages()
    assert "2026-01-02T03:04:06Z" == position.since


@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")), min_size=1))
def test_cursor_never_fails_on_any_bytes(lines: list[bytes]) -> None:
    """Whatever a server sends is printed; nothing raises."""
    position = LogPosition()
    batch = position.accept(b"\n".join(lines) + b"\n")
    assert len(lines) == len(batch.messages()) == len(batch.timestamps())
    position.reopen()
    position.accept(b"\n".join(lines) + b"\n")


SECONDS = st.sampled_from([b"2026-01-02T03:04:05", b"2026-01-02T03:04:06", b"2026-01-02T03:05:00"])
FRACTIONS = st.sampled_from([b".000000001Z ", b".500000000Z ", b".5Z ", b".500000000+08:00 ", b" "])
BLOCKS = st.lists(
    st.builds(b"%b%b%b\n".__mod__, st.tuples(SECONDS, FRACTIONS, MESSAGES))
    | st.sampled_from([b"no stamp at all\n", b"\n", b"20260102T030405.123 x\n"]),
    min_size=1,
    max_size=2,
).map(b"".join)


def state(value: object) -> object:
    """All that a position is made of, to compare."""
    names = getattr(type(value), "__slots__", None)
    return value if names is None else {name: state(getattr(value, name)) for name in names}


@given(st.lists(BLOCKS, max_size=12))
def test_cursor_takes_one_line_as_it_takes_many(blocks: list[bytes]) -> None:
    """The short way of a live line prints the same, and leaves the cursor at the same place."""
    short, long = LogPosition(), LogPosition()
    for block in blocks:
        batch = long.accept(block)
        message = short.accept_line(block)
        if message is None:
            short.accept(block)
        else:
            assert [message[:-1]] == list(batch.messages())
        assert state(long) == state(short)
