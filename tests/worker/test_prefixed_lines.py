"""Whatever pieces the output comes in, each line is written once, whole, with its prefix."""

from hypothesis import given
from hypothesis import strategies as st

from dlf.worker.prefixed_lines import PrefixedLines


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"a", b"\n")), max_size=20))
def test_lines_do_not_depend_on_the_pieces(chunks: list[bytes]) -> None:
    lines = PrefixedLines(b"[3] ")
    written = b"".join([*map(lines.feed, chunks), lines.close()])
    text = b"".join(chunks)
    expected = [b"[3] " + line + b"\n" for line in text.split(b"\n")]
    if not text.endswith(b"\n") and text:
        assert b"".join(expected) == written
    else:
        assert b"".join(expected[:-1]) == written


@given(st.lists(st.sampled_from([b"x", b"y\n", b"\n"]), max_size=30))
def test_what_is_written_is_always_whole_lines(chunks: list[bytes]) -> None:
    lines = PrefixedLines(b"> ")
    ends = [written[-1:] for chunk in chunks if (written := lines.feed(chunk))]
    assert [b"\n"] * len(ends) == ends


def test_a_line_without_end_takes_bounded_memory() -> None:
    """It is broken after a mebibyte; no byte is lost."""
    lines = PrefixedLines(b"")
    written = [lines.feed(b"x" * 65536) for _ in range(64)]
    breaks = sum(bool(part) for part in written)
    whole = b"".join([*written, lines.close()]).replace(b"\n", b"")
    assert (64 * 65536, 3) == (len(whole), breaks)
