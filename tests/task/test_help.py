"""`--help` as a terminal shows it."""

from typing import Annotated, Any

import msgspec
import pytest

from dlf.frameworks import SUMMARIES, load_framework
from dlf.task import scalars
from dlf.task.flag import Flag, Setting, settings_of
from dlf.task.help import flags_text, signature, written
from dlf.task.settings import Connection, Lifecycle, Logs, Run
from dlf.usage import overview

COMMON: list[tuple[str, type[msgspec.Struct]]] = [
    ("Cluster", Connection),
    ("Run", Run),
    ("Life cycle", Lifecycle),
    ("Logs", Logs),
]
SETTINGS = [
    setting
    for cls in [*(f.settings for f in map(load_framework, SUMMARIES)), *(cls for _, cls in COMMON)]
    for setting in settings_of(cls)
]


class Example(msgspec.Struct, frozen=True, kw_only=True):
    num_worker: Annotated[int, Flag("workers", scalars.count(1), metavar="N")] = 3
    image: Annotated[str, Flag("image", variable="PLATFORM_IMAGE", metavar="IMAGE")] = ""
    backend: Annotated[
        str,
        Flag("operator to use where there is a choice of several", metavar="auto|kubeflow|volcano"),
    ] = "auto"
    patience: Annotated[float, Flag("time to wait", scalars.duration, metavar="TIME")] = 5400.0
    strict: Annotated[bool, Flag("be strict", scalars.switch, form="switch")] = False
    run_id: Annotated[str, Flag("id of the run", variable="RUN_ID", form="variable")] = ""


def test_flags_text_is_a_table_under_each_title() -> None:
    """Flags with what they take, what they mean, their default and the platform's variable."""
    expected = """\
Task:
  --num_worker N          workers [default: 3]
  --image IMAGE           image [variable: PLATFORM_IMAGE]
  --backend auto|kubeflow|volcano
                          operator to use where there is a
                          choice of several [default: auto]
  --patience TIME         time to wait [default: 1h30m]
  --strict                be strict

Environment:
  RUN_ID                  id of the run

In a flag, `-` and `_` are the same. DLF_<FLAG>, such as
DLF_NUM_WORKER, sets a flag that is not given, and wins over
the variable named beside the flag. An empty value counts as
not given.
"""
    assert expected == flags_text([("Task", Example)], 60)


@pytest.mark.parametrize("width", [40, 50, 59, 60, 80, 132, 200])
@pytest.mark.parametrize("framework", SUMMARIES)
def test_flags_text_fits_the_terminal(framework: str, width: int) -> None:
    """Only one word that is longer than the line may be, and none ends in a blank."""
    text = flags_text([("Task", load_framework(framework).settings), *COMMON], width)
    lines = text.splitlines()
    assert [line for line in lines if len(line) > width and len(line.split()) > 2] == []
    assert [line.rstrip() for line in lines] == lines


@pytest.mark.parametrize("width", range(40, 201, 20))
def test_overview_fits_the_terminal(width: int) -> None:
    """`dlf --help`."""
    text = overview({"pytorch": "PyTorch"}, {"logs": "print the logs of a job"}, width)
    assert [line for line in text.splitlines() if len(line) > width] == []


@pytest.mark.parametrize("width", [40, 60, 80, 132])
def test_help_breaks_at_blanks_only(width: int) -> None:
    """A flag, a value or an image is never cut in two."""
    groups = [("Task", load_framework("mpi").settings), *COMMON]
    assert flags_text(groups, 1000).split() == flags_text(groups, width).split()


@pytest.mark.parametrize("framework", SUMMARIES)
def test_flags_text_names_everything_once(framework: str) -> None:
    """Each flag and each variable of the platform stands in the help, the same text every time."""
    groups = [("Task", load_framework(framework).settings), *COMMON]
    text = flags_text(groups, 80)
    assert text == flags_text(groups, 80)
    entries = [line for line in text.splitlines() if line.startswith("  ") and line[2] != " "]
    expected = [
        signature(setting) if setting.option else setting.flag.variable
        for flags in (True, False)
        for _, cls in groups
        for setting in settings_of(cls)
        if bool(setting.option) is flags
    ]
    assert len(expected) == len(entries)
    assert all(line.strip().startswith(name) for name, line in zip(expected, entries, strict=True))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_default_is_written_as_a_user_would(setting: Setting) -> None:
    """The text of a default, given as the value, is the default again."""
    text = written(setting.default)
    if text and setting.flag.form != "repeat":
        assert setting.default == setting.flag.parse(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (False, ""),
        (0, "0"),
        (0.0, ""),
        (90.0, "1m30s"),
        (60.0, "1m"),
        (3600.0, "1h"),
        (172800.0, "2d"),
        ((), ""),
        ({}, ""),
        (("a", "b"), "a,b"),
        ((("worker", 3), ("ps", 1)), "worker=3,ps=1"),
        ({"org": ("a", "b")}, "org=a,b"),
    ],
)
def test_written_shows_values_and_hides_absence(value: Any, expected: str) -> None:
    """Zero is a value; nothing, no and an empty list are not."""
    assert expected == written(value)
