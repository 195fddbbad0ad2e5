"""A log line as a reader sees it."""

from dlf.logs.readable import readable


def test_of_a_line_of_updates_the_last_is_read() -> None:
    r"""8 KB of `\r` with the error at its end."""
    bar = b"\r".join(b"%3d%%|%b" % (n, b"#" * 70) for n in range(100))

    assert readable(bar + b"\rValueError: no data\r") == "ValueError: no data"


def test_of_a_long_line_the_end_is_read() -> None:
    """Arrays are printed in one line, the error stands behind them."""
    line = b"tensor([" + b"0.1, " * 2000 + b"]) does not fit: shapes differ"

    text = readable(line, 200)

    assert text.startswith("tensor([")
    assert text.endswith("does not fit: shapes differ")
    assert len(text) == 205


def test_colours_and_bad_bytes_do_not_disturb() -> None:
    """Python 3.13 and loggers colour their output where they are told to."""
    assert readable(b"\x1b[31mValueError\x1b[0m: \xff") == "ValueError: \ufffd"
