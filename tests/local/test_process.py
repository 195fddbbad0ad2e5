"""Commands and variables reach a local process as kubelet would hand them to a container."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlf.frameworks._shell import literal
from dlf.local.process import expand, expand_all
from dlf.manifest.pods import EnvVar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$(date)", "$(date)"),
        ("$$", "$"),
        ("$$(A)", "$(A)"),
        ("$$$$", "$$"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
    ],
)
def test_expand_follows_kubelet(text: str, expected: str) -> None:
    """A known name is replaced, `$$` is one `$`, and everything else stays."""
    assert expected == expand(text, {"A": "1"})


def test_expand_all_sees_only_what_was_declared_before() -> None:
    """A variable refers to those before it in the list."""
    declared = [
        EnvVar(name="A", value="1"),
        EnvVar(name="B", value="$(A)2$(C)"),
        EnvVar(name="C", value="3"),
    ]

    assert expand_all(declared) == {"A": "1", "B": "12$(C)", "C": "3"}


@example("$($$)")
@example("echo $(ps -p $$) $$")
@example("echo $(echo $(date) $$)")
@given(st.text("$()Aa '", max_size=20).filter(lambda text: "$$(" not in text))
def test_literal_text_survives_kubelet(text: str) -> None:
    """What the user wrote is what the shell gets, whatever dollars are in it."""
    assert text == expand(literal(text), {})
