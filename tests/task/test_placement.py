"""KFJ_TASK_NODE_SELECTOR."""

import pytest

from dlf.task.flag import Tolerated
from dlf.task.placement import node_selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "cpu=true,train=true", {"cpu": ("true",), "train": ("true",)}, id="the default"
        ),
        pytest.param(
            "a=1;b=2\nc=3\td=4",
            {"a": ("1",), "b": ("2",), "c": ("3",), "d": ("4",)},
            id="every separator",
        ),
        pytest.param(
            "org=a,b,train=true", {"org": ("a", "b"), "train": ("true",)}, id="several values"
        ),
        pytest.param("org=a,org=b,org=a", {"org": ("a", "b")}, id="the same key again"),
        pytest.param(" cpu = true , ,", {"cpu": ("true",)}, id="blanks and empty entries"),
        pytest.param("gpu=", {"gpu": ("",)}, id="an empty value"),
        pytest.param(
            "node-role.kubernetes.io/gpu=T4_a.b",
            {"node-role.kubernetes.io/gpu": ("T4_a.b",)},
            id="a key with a domain",
        ),
        pytest.param(",;", {}, id="separators alone"),
    ],
)
def test_node_selector_reads_every_form(text: str, expected: dict[str, tuple[str, ...]]) -> None:
    """Keys and values keep the order in which they were written."""
    actual = node_selector(text)
    assert isinstance(actual, dict)
    assert list(expected.items()) == list(actual.items())


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("=true", "'=true'"),
        ("a=b c=d", "'a=b c=d'"),
        ("a b=c", "'a b=c'"),
        ("a..b/c=d", "'a..b/c=d'"),
        ("/c=d", "'/c=d'"),
        ("组=a", "'组=a'"),
    ],
)
def test_node_selector_names_the_entry_that_is_wrong(text: str, entry: str) -> None:
    """An entry that cannot be a label is quoted, in one line."""
    with pytest.raises(ValueError, match="write key=value") as caught:
        node_selector(f"ok=1;{text}")
    problem = f"contains {entry}, which is not a node label; write key=value, such as train=true"
    assert problem == str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected", "dropped"),
    [
        ("true", {}, "'true'"),
        ("ssd,a=b", {"a": ("b",)}, "'ssd'"),
        ("a=b=c", {"a": ("b",)}, "'=c'"),
        ("a=b=,c=d=e=f", {"a": ("b",), "c": ("d",)}, "'=', '=e=f'"),
    ],
)
def test_node_selector_takes_old_mistakes_as_the_old_launchers_did(
    text: str, expected: dict[str, tuple[str, ...]], dropped: str
) -> None:
    """A template that used to run still runs, and its owner is told what is ignored."""
    warning = f"is malformed, ignoring {dropped}; write key=value, such as train=true"
    assert Tolerated(expected, warning) == node_selector(text)
