"""The command tree: names of the program, old launchers, help, and what is said of a wrong word."""

import pytest
from terminal import run

from dlf.errors import ExitCode

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
