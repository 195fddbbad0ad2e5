"""Completion: the candidates, and the scripts in the real shells."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from commands.console import Console
from owned_process import OwnedProcess
from pseudo_terminal import PseudoTerminal
from terminal import run

from dlf.errors import ExitCode


def candidates(*words: str) -> list[str]:
    shown = run("dlf", "__complete", "--", *words, loop=False)
    assert (ExitCode.SUCCEEDED, []) == (shown.code, shown.notes)
    return shown.out.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pyt"], ["pytorch"]),
        (["lo"], ["logs"]),
        (["help", "stat"], ["status"]),
        (["check", "meg"], ["megatron"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["pytorch", "--runt"], ["--runtime"]),
        (["pytorch", "--runtime", ""], ["kubernetes", "local"]),
        (["pytorch", "--runtime=l"], ["--runtime=local"]),
        (["pytorch", "--runtime", "=", "l"], ["--runtime=local"]),
        (["pytorch", "--on-exit", "k"], ["keep"]),
        (["pytorch", "--dry-run=s"], ["--dry-run=server"]),
        (["pytorch", "--strict", "--time"], ["--timeout", "--timestamps"]),
        (["pytorch", "--timeout=1h", "--time"], ["--timestamps"]),
        (["pytorch", "--report", ""], [":files"]),
        (["pytorch", "--log_dir", ""], [":dirs"]),
        (["pytorch", "--command", ""], []),
        (["pytorch", ""], []),
        (["check", "megatron", "--clus"], ["--cluster"]),
        (["status", "-o", "j"], ["json"]),
        (["install", ""], [":files"]),
        (["nope", "-"], []),
        (["pytorch", "--nope", ""], []),
        (["ssh", "-"], []),
    ],
)
def test_candidates_are_what_may_stand_there(words: list[str], expected: list[str]) -> None:
    """Commands, flags that are not given yet, choices; files and directories by the shell."""
    assert expected == candidates(*words)


def test_flags_of_a_job_s_command_are_all_its_flags() -> None:
    """So that the list in a terminal is the help in short."""
    assert {"--kind", "--tail", "--prefix", "--namespace"} <= set(candidates("logs", "--"))


@pytest.mark.parametrize("command", ["status", "logs", "delete", "stacks"])
def test_jobs_of_the_cluster_are_candidates(cluster: Console, command: str) -> None:
    """Of the namespace that the words name so far."""
    cluster.pytorchjob("pytorchjob-a-0001")
    cluster.pytorchjob("other")

    assert cluster.run("__complete", "--", command, "py") == ExitCode.SUCCEEDED
    assert (cluster.out, cluster.said) == ("pytorchjob-a-0001\n", [])
    assert cluster.run("__complete", "--", command, "-n", "empty", "") == ExitCode.SUCCEEDED
    assert (cluster.out, cluster.said) == ("", [])


@pytest.mark.parametrize("kubeconfig", ["/nonexistent", "silent"])
def test_cluster_that_does_not_answer_has_no_candidates(cluster: Console, kubeconfig: str) -> None:
    """Silently, and in about a second: somebody waits for it."""
    if kubeconfig == "silent":
        cluster.api.call(lambda api: api.fail(seconds=3600.0, status=503))
    else:
        cluster.env["KUBECONFIG"] = kubeconfig

    assert cluster.run("__complete", "--", "logs", "") == ExitCode.SUCCEEDED
    assert (cluster.out, cluster.said) == ("", [])


@pytest.fixture
def shell_env(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `dlf` is this interpreter's module, and files to complete."""
    program = tmp_path / "bin" / "dlf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dlf "$@"\n')
    program.chmod(0o755)
    (tmp_path / "reports").mkdir()
    (tmp_path / "report.json").touch()
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": "/nonexistent", "TERM": "dumb"}


BASH = """
source <(dlf completion bash)
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); _dlf
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = """
dlf completion fish | source
complete -C {line}
"""


def completed(shell: str, words: list[str], env: dict[str, str]) -> set[str]:
    """What the shell offers for the last of the words."""
    quoted = " ".join(shlex.quote(word) for word in words)
    if shell == "fish":
        script = FISH.format(line=shlex.quote(" ".join(words)))
    else:
        script = BASH.format(words=quoted)
    options = {"bash": ["--norc"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", script],
        env=env,
        cwd=env["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    return {line for line in lines if line}


@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["dlf", "pyt"], {"pytorch"}),
        (["dlf", "pytorch", "--on_e"], {"--on_existing", "--on_exit"}),
        (["dlf", "pytorch", "--on_exit", "k"], {"keep"}),
        (["dlf", "logs", ""], set()),
    ],
)
def test_shell_offers_the_candidates(
    shell: str, words: list[str], expected: set[str], shell_env: dict[str, str]
) -> None:
    """In bash and fish, by the script that dlf prints for it."""
    assert expected == completed(shell, words, shell_env)


@pytest.mark.shells
def test_bash_completes_behind_an_equals_sign(shell_env: dict[str, str]) -> None:
    """bash has `=` as a word of its own, and wants only what comes after it."""
    assert {"keep"} == completed("bash", ["dlf", "pytorch", "--on_exit", "=", "k"], shell_env)


@pytest.mark.shells
@pytest.mark.parametrize(("shell", "files"), [("fish", {"report.json", "reports/"})])
def test_shell_completes_files_itself(
    shell: str, files: set[str], shell_env: dict[str, str]
) -> None:
    """Where a flag takes a file."""
    assert files == completed(shell, ["dlf", "pytorch", "--report", "repo"], shell_env)


@pytest.fixture(params=["bash --norc --noprofile", "zsh -f"], ids=["bash", "zsh"])
def interactive(
    request: pytest.FixtureRequest, shell_env: dict[str, str]
) -> Iterator[PseudoTerminal]:
    """A shell at its prompt, `> `, which has loaded the script."""
    words: list[str] = request.param.split()
    with (
        closing(PseudoTerminal(columns=80, rows=24)) as terminal,
        OwnedProcess[bytes](
            ["setsid", "--ctty", *words, "-i"],
            env=shell_env | {"TERM": "linux", "INPUTRC": "/dev/null", "PS1": "> "},
            cwd=shell_env["HOME"],
            stdin=terminal.process_side,
            stdout=terminal.process_side,
            stderr=terminal.process_side,
        ) as shell,
    ):
        begin = "autoload -U compinit; compinit -u -D; " if words[0] == "zsh" else ""
        load = f"{begin}source <(dlf completion {words[0]}); PS1='> '; clear; echo loaded"
        terminal.type(load.encode() + b"\n")
        terminal.read_until(lambda: terminal.rows() == ["loaded", ">"])
        yield terminal
        shell.kill()


@pytest.mark.shells
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("dlf pyt", "> dlf pytorch !"),
        ("dlf pytorch --on_exit k", "> dlf pytorch --on_exit keep !"),
        ("dlf pytorch --on_exit=k", "> dlf pytorch --on_exit=keep !"),
        ("dlf pytorch --report report.", "> dlf pytorch --report report.json !"),
        ("dlf pytorch --log_dir rep", "> dlf pytorch --log_dir reports/!"),
        ("dlf logs py", "> dlf logs py!"),
    ],
)
def test_tab_completes_at_the_prompt(interactive: PseudoTerminal, typed: str, shown: str) -> None:
    """The key itself, in a terminal; then what is typed goes on."""
    interactive.type(f"{typed}\t!".encode())
    interactive.read_until(lambda: interactive.rows()[1:] == [shown])


@pytest.mark.shells
def test_tab_lists_what_may_stand_there(interactive: PseudoTerminal) -> None:
    """Where several do."""
    interactive.type(b"dlf pytorch --on_exi\t\t")
    words = {"--on_existing", "--on_exit"}
    interactive.read_until(lambda: words == {*" ".join(interactive.rows()[2:3]).split()})
