"""Where ranks stand: what a container's worker finds out, and how ranks are set side by side."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from owned_process import OwnedProcess
from worker.test_worker import PROJECT, started

from dlf.inspect.stack_report import ProcessState, report
from dlf.worker.process_states import catches, python_stack
from dlf.worker.stack_hook import install

_SCRIPT = """
import os, time
def collective():
    print("ready", flush=True)
    time.sleep(1000)
if int(os.environ["PROCESS_INDEX"]):
    collective()
else:
    os.read(os.pipe()[0], 1)
"""


def _state(stack: str = "", *, wchan: str = "0", pid: int = 7, ticks: int = 0) -> ProcessState:
    return ProcessState(
        pid=pid, command="python t.py", state="S", wchan=wchan, ticks=ticks, rank="0", stack=stack
    )


def test_the_odd_rank_comes_first_and_equal_ones_once() -> None:
    """Numbers of processes and threads do not make a difference; the place does."""
    waiting = 'Thread 0x{} (most recent call first):\n  File "t.py", line 9 in all_reduce\n'
    pods = {
        "w-0": [_state(waiting.format("aa"), pid=7)],
        "w-1": [_state('Thread 0xbb (most recent call first):\n  File "t.py", line 4 in load\n')],
        "w-2": [_state(waiting.format("cc"), pid=8)],
    }
    assert [
        "w-1:",
        "  [0] python t.py (pid 7): sleeping, 0% CPU",
        "    Thread 0xbb (most recent call first):",
        '      File "t.py", line 4 in load',
        "w-0, w-2 (2 pods are alike):",
        "  [0] python t.py (pid 7): sleeping, 0% CPU",
        "    Thread 0xaa (most recent call first):",
        '      File "t.py", line 9 in all_reduce',
    ] == report(pods)


def test_without_stacks_the_kernel_tells_them_apart() -> None:
    pods = {
        "w-0": [_state(wchan="futex_wait_queue")],
        "w-1": [_state(wchan="futex_wait_queue")],
        "w-2": [_state(wchan="pipe_read", ticks=25)],
    }
    assert [
        "w-2:",
        "  [0] python t.py (pid 7): sleeping in pipe_read, 50% CPU",
        "w-0, w-1 (2 pods are alike):",
        "  [0] python t.py (pid 7): sleeping in futex_wait_queue, 0% CPU",
    ] == report(pods)


def test_a_long_command_line_is_cut() -> None:
    """As those of mpirun's daemons; that of a training script is whole."""
    process = ProcessState(pid=7, command="orted " + "-mca x " * 200, state="S")
    (_, line) = report({"w-0": [process]})
    assert line.endswith("... (pid 7): sleeping, 0% CPU")
    assert 250 > len(line)


def test_a_pod_without_processes_is_said() -> None:
    assert ["w-0:", "  no process but dlf's own"] == report({"w-0": []})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Name:\tx\nSigCgt:\t0400000000000000\n", True),
        ("Name:\tx\nSigCgt:\t0000000000004002\n", False),
        ("", False),
    ],
)
def test_only_a_process_that_catches_the_signal_gets_it(status: str, expected: bool) -> None:
    """Its default effect would end the process."""
    assert expected == catches(status, 59)


def test_py_spy_of_the_image_is_asked_when_python_does_not_tell(
    dlf_command: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "py-spy"
    program.write_text('#!/bin/sh\necho "$@: line 3 in wait"\n')
    program.chmod(0o755)
    script = tmp_path / "train.py"
    script.write_text("import sys; print('ready', flush=True); sys.stdin.read()")
    path = f"{tmp_path}:{os.environ['PATH']}"
    with OwnedProcess[bytes](
        [sys.executable, script], stdin=-1, stdout=-1, env={"PATH": path}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        here = [*dlf_command, "stacks", "--here"]
        printed = subprocess.run(here, cwd=PROJECT, capture_output=True, check=True).stdout
        process.kill()
    (found,) = [each for each in json.loads(printed) if each["pid"] == process.pid]
    assert f"dump --pid {process.pid}: line 3 in wait\n" == found["stack"]


def test_a_process_that_ends_while_it_is_asked_has_no_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files of /proc go with it."""
    words = [sys.executable, "-c", "print('ready', flush=True); input()"]
    env = install(str(tmp_path), {})
    with OwnedProcess[bytes](words, stdin=-1, stdout=-1, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert 'File "<string>", line 1' in python_stack(process.pid)
        kill = os.kill

        def end(pid: int, _: int) -> None:
            kill(pid, signal.SIGKILL)
            process.wait()

        monkeypatch.setattr("dlf.worker.process_states.os.kill", end)
        monkeypatch.setattr("dlf.worker.process_states._STACK_SECONDS", 0.1)
        assert "" == python_stack(process.pid)


def _site(tmp_path: Path) -> str:
    """A sitecustomize of the image, which must still be imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import os; 'PROCESS_INDEX' in os.environ and print('own hook', flush=True)"
    )
    return str(tmp_path / "site")


def test_python_processes_tell_their_stacks(dlf_command: list[str], tmp_path: Path) -> None:
    """Also one that hangs in C; the image's own sitecustomize still runs, and nobody is killed."""
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT)
    words = ["--stacks", "--processes", "2", "--process_env", "--", "python3", "-u", str(script)]
    with started(dlf_command, *words, PYTHONPATH=_site(tmp_path)) as process:
        assert process.stdout is not None
        lines = {process.stdout.readline() for _ in range(3)}
        assert {"[0] own hook\n", "[1] own hook\n", "[1] ready\n"} == lines
        stacks: dict[str, str] = {}
        while not ("collective" in stacks.get("1", "") and "line 9" in stacks.get("0", "")):
            here = [*dlf_command, "stacks", "--here"]
            printed = subprocess.run(here, cwd=PROJECT, capture_output=True, check=True).stdout
            for each in json.loads(printed):
                if str(script) in each["command"]:
                    stacks[each["rank"]] = each["stack"]
        assert process.poll() is None
        process.terminate()
        process.communicate(timeout=60)
    assert f'  File "{script}", line 5 in collective' in stacks["1"].splitlines()
