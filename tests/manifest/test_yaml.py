"""What is written as YAML is read back by a reader that is not ours."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dlf.manifest.yaml import dump

TEXT = st.text() | st.text("-+.0123456789eExXob_:~ny#|>'\"\n\t \u0085\u2028", max_size=12)
LEAF = (
    TEXT
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False).filter(lambda number: abs(number) != float("inf"))
)
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(VALUE)
def test_any_value_is_read_back(value: Any) -> None:
    """Also lists in lists, empty ones, and text that looks like something else."""
    assert value == yaml.safe_load(dump(value))


@pytest.mark.parametrize(
    "text",
    [
        *("y", "No", "ON", "true", "null", "~", "", " ", "x ", " x"),
        *("1", "-1", "+1", "08", "0o7", "0b1", "0x1F", "1e3", "12E4", "1_0", "1.5", ".5", ".inf"),
        *("1:30", "2026-01-01", "2026-01-01T00:00:00Z", "<<", "=", "- a", "? a", "a: b", "a:"),
        *(
            "a #b",
            "#a",
            "---",
            "...",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "[a",
            "{a",
            ",a",
            "|",
            ">",
        ),
    ],
)
def test_what_could_be_something_else_is_quoted(text: str) -> None:
    """kubectl reads YAML 1.1 with some words of its own: none of these is left to it."""
    assert f"'{text}'\n" == dump(text)


@pytest.mark.parametrize(
    "text",
    ["train.py", "a, b", "$(RANK)", "--num_worker", "/a:b#c", "4Gi", "100m", "365d", "图", "it's"],
)
def test_what_can_only_be_text_is_left_as_it_is(text: str) -> None:
    """Manifests are read by people, too."""
    assert f"{text}\n" == dump(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", "|-\n  a\n  b\n"),
        ("a\nb\n", "|\n  a\n  b\n"),
        ("a\n\n  b\n\n", "|+\n  a\n\n    b\n\n"),
        ("  a\nb", '"  a\\nb"\n'),
        ("a\tb\n", '"a\\tb\\n"\n'),
    ],
)
def test_lines_of_text_are_a_block(text: str, expected: str) -> None:
    """A script is shown as it is, if its first line is not indented and nothing is invisible."""
    assert expected == dump(text)
