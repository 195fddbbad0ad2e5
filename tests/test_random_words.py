"""No command line and no environment makes a traceback: an exit code and lines, whatever is said.

The fast suite tries some hundred; `pytest -m slow tests/test_random_words.py` tries 100 000.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import run

from dlf.cli import COMMANDS
from dlf.commands.invocation import GROUPS, CheckRun
from dlf.errors import ExitCode
from dlf.frameworks import BY_NAME
from dlf.task.flag import settings_of

SETTINGS = [
    setting
    for cls in [
        *(each.settings for each in BY_NAME.values()),
        *(cls for _, cls in GROUPS),
        CheckRun,
    ]
    for setting in settings_of(cls)
]
FLAGS = sorted({each.option for each in SETTINGS if each.option})
SHORT = sorted({each.flag.short for each in SETTINGS if each.flag.short})
VARIABLES = sorted({variable for each in SETTINGS for variable in each.variables})
PLAUSIBLE = [
    *(
        "",
        " ",
        "1",
        "0",
        "-1",
        "2 ",
        "8Gi",
        "20g",
        "2~4",
        "0.5",
        "1(V100)",
        "1（npu）",
        "a=b",
        "a=b=c",
    ),
    *("worker=3", "worker:memory=8Gi", "d(pvc):/d", "10.0.0.1:/x(nfs):/y", "a:NoSchedule", "None"),
    *(
        "json",
        "yaml",
        "text",
        "local",
        "client",
        "server",
        "volcano",
        "90s",
        "1h30m",
        "all",
        "0,-1",
    ),
    *(
        "ml",
        "i:1",
        "python3 train.py",
        "true",
        "{}",
        '{"cpu": 1}',
        "A=b",
        "/dev/full",
        "\udcff",
        "\0",
    ),
]
# Without `/`: `--report` and `--log_dir` make files, and these stay where the test runs.
ANY = st.text(st.characters(codec=None, exclude_characters="/"), max_size=12)
VALUES = st.sampled_from(PLAUSIBLE) | ANY
FLAG = st.sampled_from(FLAGS + SHORT) | st.sampled_from(FLAGS).map(lambda flag: flag.upper())
# These become the command that they are given.
STARTING = {"worker", "ssh", "pdsh"}
WORDS = st.one_of(
    st.sampled_from(
        [*BY_NAME, *sorted({*COMMANDS} - STARTING), "help", "--help", "-h", "-V", "--", "-"]
    ),
    st.sampled_from(["launcher.py", "launcher-tf.py", "-u"]),
    FLAG,
    st.tuples(FLAG, VALUES).map("=".join),
    VALUES,
)
COMMAND = st.sampled_from([["dlf"], ["python3"], ["dlf", "check"], *(["dlf", n] for n in BY_NAME)])
LINES = st.tuples(COMMAND, st.lists(WORDS, max_size=8)).map(lambda parts: parts[0] + parts[1])
ENVIRONMENTS = st.dictionaries(
    st.sampled_from([*VARIABLES, "DLF_FRAMEWORK", "DLF_LAUNCHER_IMAGE", "NO_COLOR", "KUBECONFIG"]),
    VALUES,
    max_size=5,
)


def check(words: list[str], env: dict[str, str], width: int) -> None:
    shown = run(*words, env=env, width=width, loop=False)
    assert isinstance(shown.code, ExitCode)
    assert shown.code is not ExitCode.USAGE or (shown.out, bool(shown.notes)) == ("", True)


@given(LINES, ENVIRONMENTS, st.integers(40, 200))
@settings(max_examples=400)
def test_random_words_make_no_traceback(words: list[str], env: dict[str, str], width: int) -> None:
    """Whatever is wrong is a line and exit code 2."""
    check(words, env, width)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@given(LINES, ENVIRONMENTS, st.integers(40, 200))
@settings(max_examples=100_000, derandomize=False)
def test_many_random_words_make_no_traceback(
    words: list[str], env: dict[str, str], width: int
) -> None:
    """The same, as long as it takes."""
    check(words, env, width)


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that a report makes."""
    monkeypatch.chdir(tmp_path)
