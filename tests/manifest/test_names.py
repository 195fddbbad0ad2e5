"""Names that Kubernetes accepts, made from names that people chose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifest import rules

from dlf.manifest.names import job_name, label_value, label_values, volume_name


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ("mnist", "tfjob-mnist-0a1b"),
        ("Image_Net.v2", "tfjob-image-net-v2-0a1b"),
        ("-a--b-", "tfjob-a-b-0a1b"),
        ("图像分类", "tfjob-0a1b"),
        ("图像 v2", "tfjob-v2-0a1b"),
        ("", "tfjob-0a1b"),
        ("x" * 200, f"tfjob-{'x' * 42}-0a1b"),
        ("x" * 41 + "-y", f"tfjob-{'x' * 41}-0a1b"),
    ],
)
def test_job_name_keeps_what_a_label_can_hold(pipeline: str, expected: str) -> None:
    """Upper case, dots and others become part of a label; the cut never leaves a dash behind."""
    assert expected == job_name("tfjob", pipeline, "0a1b", "-worker-99")


@given(
    pipeline=st.text(),
    suffix=st.text("0123456789abcdef", min_size=4, max_size=4),
    role=st.from_regex(r"[a-z]([-a-z0-9]{0,18}[a-z0-9])?", fullmatch=True),
    index=st.integers(0, 999),
)
def test_job_name_leaves_room_for_its_pods(
    pipeline: str, suffix: str, role: str, index: int
) -> None:
    """Job and pods are DNS-1035 labels whatever the pipeline is called, and the suffix survives."""
    name = job_name("deepspeed", pipeline, suffix, f"-{role}-{index}")
    assert rules.is_rfc1035_label(name)
    assert rules.is_rfc1035_label(f"{name}-{role}-{index}")
    assert name.startswith("deepspeed-")
    assert name.endswith(f"-{suffix}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zhang.san", "zhang.san"),
        ("li@example.com", "li-example.com"),
        ("图像", ""),
        ("_a-", "a"),
        ("a" * 64, "a" * 63),
        ("a" * 62 + "-b", "a" * 62),
    ],
)
def test_label_value_is_the_nearest_valid_one(text: str, expected: str) -> None:
    """What a label cannot hold becomes a dash, and none at either end."""
    assert expected == label_value(text)


@given(text=st.text())
def test_label_value_is_valid(text: str) -> None:
    """Any text gives a label value, and a valid one is left alone."""
    value = label_value(text)
    assert rules.is_label_value(value)
    assert not rules.is_label_value(text) or value == text


def test_label_values_keep_the_originals_as_annotations() -> None:
    """Nothing is lost by making a label valid."""
    assert (
        {"a": "x", "b": "li-x", "c": ""},
        {"dlf/b": "li@x", "dlf/c": "图"},
    ) == label_values({"a": "x", "b": "li@x", "c": "图"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("data", "data"),
        ("/data/My_Set.v1/", "data-my-set-v1"),
        ("10.0.0.1/export", "10-0-0-1-export"),
        ("a" * 50 + "/" + "b" * 50, "a" * 9 + "-" + "b" * 50),
        ("a" + "/" * 5 + "b" * 60, "b" * 60),
        ("/", ""),
    ],
)
def test_volume_name_is_the_end_of_the_source(source: str, expected: str) -> None:
    """At most 60 characters, as the platform's users know the names."""
    assert expected == volume_name(source)
