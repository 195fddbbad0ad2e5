"""No command line and no environment makes a traceback: an exit code and lines, whatever is said.

The fast suite tries some hundred; `pytest -m slow tests/test_random_words.py` tries 100 000 and
20 000 files, in about 20 minutes, most of which hypothesis takes.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal import run

from dlf.cli import COMMANDS
from dlf.commands.invocation import GROUPS, CheckRun
from dlf.errors import ExitCode
from dlf.frameworks import SUMMARIES, load_framework
from dlf.task.flag import settings_of
from dlf.worker import flags as worker

PARTS_OF_WORKER = {"worker", "ssh", "pdsh"}
MODULES = [
    importlib.import_module(f"dlf.commands.{each}") for each in {*COMMANDS} - PARTS_OF_WORKER
]
SETTINGS = [
    setting
    for cls in [
        *(each.settings for each in map(load_framework, SUMMARIES)),
        *(cls for _, cls in GROUPS),
        *(cls for module in MODULES for _, cls in getattr(module, "GROUPS", ())),
        *(cls for _, cls in worker.GROUPS),
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
        "job.yaml",
        "bash",
        "pytorchjob",
        "\udcff",
        "\0",
    ),
]
# Without `/`: `--report` and `--log_dir` make files, and these stay where the test runs.
ANY = st.text(st.characters(codec=None, exclude_characters="/"), max_size=12)
VALUES = st.sampled_from(PLAUSIBLE) | ANY
FLAG = st.sampled_from(FLAGS + SHORT) | st.sampled_from(FLAGS).map(lambda flag: flag.upper())
WORDS = st.one_of(
    st.sampled_from([*SUMMARIES, *COMMANDS, "help", "--help", "-h", "-V", "--", "-"]),
    st.sampled_from(["launcher.py", "launcher-tf.py", "-u"]),
    FLAG,
    st.tuples(FLAG, VALUES).map("=".join),
    VALUES,
)
COMMAND = st.sampled_from(
    [
        *(
            ["dlf"],
            ["python3"],
            ["ssh"],
            ["/bin/pdsh"],
            ["dlf", "help"],
            ["dlf", "__complete", "--"],
        ),
        *(["dlf", name] for name in [*SUMMARIES, *COMMANDS]),
    ]
)
LINES = st.tuples(COMMAND, st.lists(WORDS, max_size=8)).map(lambda parts: parts[0] + parts[1])
ENVIRONMENTS = st.dictionaries(
    st.sampled_from([*VARIABLES, "DLF_FRAMEWORK", "DLF_LAUNCHER_IMAGE", "NO_COLOR", "KUBECONFIG"]),
    VALUES,
    max_size=5,
)


JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}, "annotations": {"a": "b"}},
    "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {}}}}},
}
"""That `dlf run` accepts."""


def check(words: list[str], env: dict[str, str], width: int) -> None:
    """Run the words; `dlf worker` without its command, which this process would become."""
    if "worker" in words[1:2] and "--" in words:
        words = words[: words.index("--")]
    shown = run(*words, env=env, width=width, loop=False)
    assert isinstance(shown.code, ExitCode)
    assert shown.code is not ExitCode.USAGE or (shown.out, bool(shown.notes)) == ("", True)


PATHS = st.sampled_from(
    [
        *([], ["apiVersion"], ["kind"], ["metadata"], ["metadata", "name"]),
        *(["metadata", "namespace"], ["metadata", "labels"], ["metadata", "labels", "a"]),
        *(["metadata", "annotations"], ["metadata", "annotations", "a"]),
        *(["spec"], ["spec", "pytorchReplicaSpecs"], ["spec", "pytorchReplicaSpecs", "Master"]),
        ["spec", "pytorchReplicaSpecs", "Master", "replicas"],
        ["spec", "pytorchReplicaSpecs", "Master", "template", "spec"],
    ]
)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY | st.integers(), inner),
    max_leaves=6,
)


def replaced(value: Any, path: list[str], by: Any) -> Any:
    """The value with another one at the path."""
    return {**value, path[0]: replaced(value[path[0]], path[1:], by)} if path else by


def check_file(path: list[str], content: Any, flags: list[str]) -> None:
    """Run what is a job but for one place."""
    text = yaml.safe_dump(replaced(JOB, path, content), allow_unicode=True)
    Path("job.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    check(["dlf", "run", "--file", "job.yaml", *flags], {}, 80)


RUN_FLAGS = st.sampled_from([["--dry-run"], [], ["-n", "ml"], ["--dry-run", "--namespace=x"]])


@given(PATHS, CONTENT, RUN_FLAGS)
@settings(max_examples=400)
def test_random_resources_make_no_traceback(
    path: list[str], content: object, flags: list[str]
) -> None:
    """`dlf run --file` says what is wrong with a file."""
    check_file(path, content, flags)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@given(PATHS, CONTENT, RUN_FLAGS)
@settings(max_examples=20_000, derandomize=False)
def test_many_random_resources_make_no_traceback(
    path: list[str], content: object, flags: list[str]
) -> None:
    """The same, as long as it takes."""
    check_file(path, content, flags)


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
    """Files that a report makes, and the one that `dlf run` reads."""
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(json.dumps(JOB))
