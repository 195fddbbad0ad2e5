"""The command tree: names of the program, old launchers, help, and what is said of a wrong word."""

import subprocess
from pathlib import Path

import pytest
from terminal import Screen, run

from dlf import build_info
from dlf.cli import COMMANDS
from dlf.commands.invocation import CheckRun, ignored_flags, parse
from dlf.errors import ExitCode
from dlf.frameworks import SUMMARIES, load_framework
from dlf.task.flag import settings_of

TASK = ["--image", "i", "--command", "c", "--dry-run"]


@pytest.mark.parametrize(
    "words",
    [
        ["python3", "launcher-tf.py"],
        ["python", "/app/launcher-tf.py"],
        ["python3", "-u", "launcher-tf.py"],
        ["/usr/bin/python3", "-uB", "-X", "utf8", "-W", "ignore", "-Wdefault", "launcher-tf.py"],
        ["python3", "--check-hash-based-pycs", "never", "launcher-tf.py"],
    ],
)
def test_launcher_of_an_old_template_is_its_framework(words: list[str]) -> None:
    """Options of the interpreter mean nothing here, and are skipped."""
    assert run("dlf", "tf", *TASK) == run(*words, *TASK)


@pytest.mark.parametrize("framework", ["tf", "pytorch"])
def test_launcher_py_is_the_framework_of_the_image(framework: str) -> None:
    """The images dlf:VERSION-tf and dlf:VERSION-pytorch set DLF_FRAMEWORK."""
    shown = run("python3", "launcher.py", *TASK, env={"DLF_FRAMEWORK": framework})
    assert run("dlf", framework, *TASK) == shown


def test_launcher_py_without_a_framework_says_which_image_to_use() -> None:
    """The plain image cannot know it."""
    shown = run("python3", "launcher.py", *TASK)
    assert (ExitCode.USAGE, "", 1) == (shown.code, shown.out, len(shown.notes))
    assert "dlf:VERSION-tf or dlf:VERSION-pytorch" in shown.notes[0]
    assert "DLF_FRAMEWORK" in shown.notes[0]


@pytest.mark.parametrize(
    "words", [["train.py"], ["-c", "print()"], ["-m", "launcher-tf.py"], ["-u"], ["-W"]]
)
def test_other_python_is_refused_in_words(words: list[str]) -> None:
    """Under the name of Python, dlf runs launchers alone."""
    shown = run("python3", *words)
    assert ExitCode.USAGE == shown.code
    assert "this 'python3' is dlf, not Python" in shown.notes[0]


def test_own_image_is_no_image_to_train_in() -> None:
    """The platform's KFJ_TASK_IMAGES is the image of the launcher's pod: here, dlf alone."""
    env = {"KFJ_TASK_IMAGES": "reg/dlf:1", "DLF_LAUNCHER_IMAGE": "true"}
    shown = run("dlf", "pytorch", "--image", "", "--dry-run", env=env)
    assert (ExitCode.USAGE, "") == (shown.code, shown.out)
    assert [
        "KFJ_TASK_IMAGES='reg/dlf:1' is the image of this launcher, which holds nothing but dlf;"
        " give --image (or DLF_IMAGE), the image with your training code"
    ] == shown.notes


@pytest.mark.parametrize(
    ("flags", "env"),
    [
        (["--image", "train:1"], {"DLF_LAUNCHER_IMAGE": "true", "KFJ_TASK_IMAGES": "reg/dlf:1"}),
        ([], {"DLF_LAUNCHER_IMAGE": "true", "DLF_IMAGE": "train:1"}),
        ([], {"KFJ_TASK_IMAGES": "train:1"}),
    ],
)
def test_image_that_was_chosen_is_used(flags: list[str], env: dict[str, str]) -> None:
    """So is the platform's, where dlf was copied into an image that can train."""
    shown = run("dlf", "pytorch", *flags, "--dry-run", env=env)
    assert (ExitCode.SUCCEEDED, []) == (shown.code, shown.notes)
    assert "image: train:1" in shown.out


def test_tolerated_value_is_a_line_on_stderr() -> None:
    """The task runs as it did with the old launchers."""
    shown = run("dlf", "tf", *TASK, env={"KFJ_TASK_NODE_SELECTOR": "a=b=c"})
    assert ExitCode.SUCCEEDED == shown.code
    assert [
        "KFJ_TASK_NODE_SELECTOR='a=b=c' is malformed, ignoring '=c';"
        " write key=value, such as train=true"
    ] == shown.notes


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--output", "json"], "--output has no effect without --dry-run"),
        (
            ["--dry-run", "--report", "r", "--timeout", "3s"],
            "--report, --timeout have no effect with --dry-run",
        ),
        (["--dry-run=server", "--log_dir", "d"], "--log_dir has no effect with --dry-run=server"),
        (["--runtime", "local", "-n", "ml"], "-n has no effect with --runtime local"),
        (["--runtime", "local", "--memory", "2G"], "--memory has no effect with --runtime local"),
        (["--dry-run", "--output", "json"], ""),
        (["--runtime", "local", "--gpu", "1"], ""),
        (["--runtime", "local", "--role", "worker:gpu=1,cpu=2"], ""),
        (
            ["--runtime", "local", "--role", "worker:cpu=2"],
            "--role has no effect with --runtime local",
        ),
        (["--timeout", "3s"], ""),
        (["--detach", "--timeout", "3s", "-t"], "--timeout, -t have no effect with --detach"),
        (["-d", "--runtime", "local"], "-d has no effect with --runtime local"),
    ],
)
def test_flag_without_effect_is_named(argv: list[str], line: str) -> None:
    """No flag is ignored without a word."""
    assert line == ignored_flags(parse(load_framework("pytorch"), argv, {}))


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--timeout", "3s"], "--timeout has no effect in dlf check"),
        (["--output", "json"], ""),
    ],
)
def test_flag_without_effect_in_a_check_is_named(argv: list[str], line: str) -> None:
    """A check takes the command line of the task, and uses a part of it."""
    parsed = parse(load_framework("pytorch"), argv, {}, CheckRun)
    assert line == ignored_flags(parsed, check=True)


def test_dry_run_leaves_the_report_alone(tmp_path: Path) -> None:
    """There is no result to report."""
    report = tmp_path / "report.json"
    shown = run("dlf", "tf", *TASK, "--report", str(report))
    assert (ExitCode.SUCCEEDED, False) == (shown.code, report.exists())
    assert ["--report has no effect with --dry-run"] == shown.notes


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["version"], ["version", "-o", "text"]])
def test_version_has_several_names(words: list[str]) -> None:
    """One line."""
    assert run("dlf", *words) == Screen(ExitCode.SUCCEEDED, build_info.text(), [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "unknown command 'nope'; see --help"),
        (["pytroch"], "unknown command 'pytroch'; did you mean pytorch?"),
        (["--image", "i"], "unexpected flag '--image' before the command; write dlf FRAMEWORK"),
        (["help", "nope"], "unknown command 'nope'; see --help"),
        (["version", "x"], "unexpected argument 'x'; write dlf version"),
        (["install"], "DEST is missing; write dlf install DEST"),
        (["install", "a", "b"], "unexpected argument 'b'; write dlf install DEST"),
        (["install", "--force", "a"], "unknown flag '--force'; see --help"),
        (["pytorch", "train.py"], "unexpected argument 'train.py'; flags begin with --"),
    ],
)
def test_wrong_word_is_2(words: list[str], message: str) -> None:
    """One line that says what to write."""
    shown = run("dlf", *words)
    assert (ExitCode.USAGE, "", 1) == (shown.code, shown.out, len(shown.notes))
    assert shown.notes[0].startswith(message)


def test_manual_page_has_every_flag_and_command() -> None:
    """It comes from the same source as the help."""
    shown = run("dlf", "man")
    assert ExitCode.SUCCEEDED == shown.code
    text = shown.out.replace("\\-", "-")
    flags = {s.option for name in SUMMARIES for s in settings_of(load_framework(name).settings)}
    assert [flag for flag in sorted(flags) if f" {flag}" not in text and flag] == []
    assert [name for name in COMMANDS if f"\n.B {name}\n" not in text] == []


@pytest.mark.shells
def test_manual_page_is_well_formed() -> None:
    """groff has nothing to say against it."""
    page = run("dlf", "man").out
    words = ["groff", "-man", "-Tutf8", "-ww", "-Wbreak", "-z"]  # one long word may stick out
    done = subprocess.run(words, input=page, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
