"""Parsers of single values: every form that is accepted, and what is said of the others."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from dlf.task import scalars

ACCEPTED = [
    (scalars.count(1), "1", 1),
    (scalars.count(0), "0", 0),
    (scalars.count(1), "007", 7),
    (scalars.count(1), "999999999", 999999999),
    (scalars.choice("a", "b"), "b", "b"),
    (scalars.switch, "true", True),
    (scalars.switch, "YES", True),
    (scalars.switch, "1", True),
    (scalars.switch, "off", False),
    (scalars.switch, "False", False),
    (scalars.duration, "90", 90.0),
    (scalars.duration, "90s", 90.0),
    (scalars.duration, "10m", 600.0),
    (scalars.duration, "1h30m", 5400.0),
    (scalars.duration, "2d", 172800.0),
    (scalars.duration, "1000d", 86400000.0),
    (scalars.text, "任意 text\n", "任意 text\n"),
    (scalars.image, "host:5000/team/train:1@sha256:0a", "host:5000/team/train:1@sha256:0a"),
    (scalars.dns_label, "pipeline", "pipeline"),
    (scalars.dns_label, "0-9", "0-9"),
    (scalars.object_name, "team.high-priority", "team.high-priority"),
    (scalars.object_names, "a, b,,c.d", ("a", "b", "c.d")),
    (scalars.path_segment, "zhang.san", "zhang.san"),
    (scalars.path_segment, "张三", "张三"),
    (scalars.names, " a ,, b ", ("a", "b")),
    (scalars.assignment, "A=b=c", ("A", "b=c")),
    (scalars.assignment, "A=", ("A", "")),
    (scalars.assignment, "_a.b-c=1", ("_a.b-c", "1")),
    (scalars.pattern, "a|b", re.compile(b"a|b")),
    (scalars.instant, "2026-01-02T15:04:05Z", "2026-01-02T15:04:05Z"),
    (scalars.instant, "2026-01-02T15:04:05+08:00", "2026-01-02T07:04:05Z"),
    (scalars.instant, "2026-01-02 15:04", "2026-01-02T15:04:00Z"),
    (scalars.ranks, "all", ()),
    (scalars.ranks, "0,-1", (0, -1)),
    (scalars.ranks, "0, 3 ,", (0, 3)),
]

REFUSED = [
    (scalars.count(1), "0", "write a whole number, 1 or more"),
    (scalars.count(0), "-1", "write a whole number, 0 or more"),
    (scalars.count(0), "1.5", "write a whole number"),
    (scalars.count(0), "three", "write a whole number"),
    (scalars.count(0), "٣", "write a whole number"),
    (scalars.count(0), "1000000000", "write a whole number"),
    (scalars.choice("a", "b"), "c", "write one of a, b"),
    (scalars.switch, "perhaps", "write true or false"),
    (scalars.duration, "soon", "write a time such as 90s"),
    (scalars.duration, "-5s", "write a time such as 90s"),
    (scalars.duration, "1.5h", "write a time such as 90s"),
    (scalars.duration, "30m1", "write a time such as 90s"),
    (scalars.duration, "0", "is out of range; write a time between 1s and 1000d"),
    (scalars.duration, "1001d", "is out of range; write a time between 1s and 1000d"),
    (scalars.text, "a\0b", "write text without NUL bytes"),
    (scalars.text, "a\udcffb", "write text without NUL bytes, in UTF-8"),
    (scalars.image, "my image", "write an image reference without blanks"),
    (scalars.image, "image\n", "write an image reference without blanks"),
    (scalars.dns_label, "Pipeline", "write lower-case letters, digits and -"),
    (scalars.dns_label, "a.b", "write lower-case letters, digits and -"),
    (scalars.dns_label, "a" * 64, "write lower-case letters, digits and -"),
    (scalars.object_name, "a..b", "write lower-case letters, digits, - and ."),
    (scalars.object_name, "a_b", "write lower-case letters, digits, - and ."),
    (scalars.object_name, "a" * 254, "write lower-case letters, digits, - and ."),
    (scalars.object_names, "a,B", "write lower-case letters, digits, - and ."),
    (scalars.path_segment, "a/b", "is not allowed; write a name without / and :"),
    (scalars.path_segment, "a:b", "is not allowed; write a name without / and :"),
    (scalars.path_segment, "..", "is not allowed; write a name without / and :"),
    (scalars.assignment, "A", "write NAME=VALUE"),
    (scalars.assignment, "1A=b", "write NAME=VALUE"),
    (scalars.assignment, "A B=c", "write NAME=VALUE"),
    (scalars.assignment, "A=\udcff", "write text without NUL bytes, in UTF-8"),
    (scalars.pattern, "(", "is not a regular expression"),
    (scalars.instant, "yesterday", "write a time such as 2026"),
    (scalars.ranks, "", "write all, or ranks such as 0,-1"),
    (scalars.ranks, "0-3", "write all, or ranks such as 0,-1"),
    (scalars.ranks, "first", "write all, or ranks such as 0,-1"),
]


@pytest.mark.parametrize(("parse", "text", "expected"), ACCEPTED)
def test_scalar_accepts_every_documented_form(
    parse: Callable[[str], Any], text: str, expected: Any
) -> None:
    """Each form in the docstring of a parser gives the value that it describes."""
    assert expected == parse(text)


@pytest.mark.parametrize(("parse", "text", "message"), REFUSED)
def test_scalar_says_what_to_write_instead(
    parse: Callable[[str], Any], text: str, message: str
) -> None:
    """Anything else is a ValueError in one line that ends in what to write."""
    with pytest.raises(ValueError, match=r"(^|; )write ") as caught:
        parse(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
