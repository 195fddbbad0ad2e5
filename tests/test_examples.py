"""The examples that need the standard library alone train for real, in several processes."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT
from types import ModuleType
from typing import Any

import pytest
from owned_process import OwnedProcess
from waiting import PATIENCE

from dlf.cli import main
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.frameworks import SUMMARIES

EXAMPLES = Path(__file__).parents[1] / "examples"
LAUNCHER = EXAMPLES / "mindformers" / "scripts" / "msrun_launcher.sh"
RANKS = 3

Command = tuple[list[str], dict[str, str]]
"""Words and the variables that an operator would set."""


@pytest.fixture
def run_all(tmp_path: Path) -> Callable[[list[Command]], tuple[list[int], list[str]]]:
    """Runs commands side by side where no framework is installed: exit codes and output in order.

    The last one is started first, so that rank 0 comes late.
    """
    for framework in ("torch", "deepspeed", "jax", "mindspore"):
        (tmp_path / f"{framework}.py").write_text("raise ModuleNotFoundError(__name__)\n")
    bare = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(tmp_path),
    }

    def run(commands: list[Command]) -> tuple[list[int], list[str]]:
        started = [
            OwnedProcess(
                words,
                cwd=tmp_path,
                env=bare | env,
                stdout=PIPE,
                stderr=STDOUT,
                text=True,
            )
            for words, env in reversed(commands)
        ]
        started.reverse()
        try:
            printed = [process.communicate(timeout=PATIENCE)[0] for process in started]
        finally:
            for process in started:
                process.end()
        return [process.returncode for process in started], printed

    return run


@pytest.fixture
def port() -> int:
    """A port that nobody listens on, below those that outgoing connections get."""
    for candidate in range(20000 + os.getpid() % 10000, 32768):
        with socket.socket() as probe:
            try:
                probe.bind(("", candidate))
            except OSError:
                continue
            return candidate
    raise AssertionError("no free port")


@pytest.fixture(scope="module")
def process_group() -> ModuleType:
    """The module that examples find beside them."""
    path = EXAMPLES / "common" / "process_group.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(printed: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"loss (\S+)", printed)]


def results(printed: str) -> list[str]:
    return re.findall(r"done, parameters equal rank 0's: (.*)", printed)


def assert_trained(codes: list[int], printed: list[str], ranks: int) -> None:
    """All ended well, every rank with the same parameters; rank 0 shows how the loss fell."""
    everything = "\n".join(printed)
    shown = losses(printed[0])
    assert [0] * len(codes) == codes, everything
    assert ranks == everything.count("standard library"), everything
    assert len(shown) >= 10, everything
    assert sorted(shown, reverse=True) == shown
    assert shown[-1] < 0.01 * shown[0]
    assert not losses("\n".join(printed[1:])), "only rank 0 reports"
    assert [results(everything)[0]] * ranks == results(everything)


@pytest.mark.parametrize("framework", ["pytorch", "deepspeed", "colossalai", "megatron"])
def test_example_trains_with_the_variables_of_torch(
    framework: str, run_all: Callable[..., Any], port: int
) -> None:
    """Three ranks that know MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE train together."""
    words = [sys.executable, str(EXAMPLES / framework / "train.py")]
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
    codes, printed = run_all([(words, job | {"RANK": str(rank)}) for rank in range(RANKS)])
    assert_trained(codes, printed, RANKS)


def test_jax_example_trains_with_the_variables_of_the_operator(
    run_all: Callable[..., Any], port: int
) -> None:
    """Three processes that know COORDINATOR_ADDRESS and PROCESS_ID train together."""
    words = [sys.executable, str(EXAMPLES / "jax" / "train.py")]
    job = {"COORDINATOR_ADDRESS": "127.0.0.1", "COORDINATOR_PORT": str(port)}
    job |= {"NUM_PROCESSES": str(RANKS)}
    codes, printed = run_all([(words, job | {"PROCESS_ID": str(i)}) for i in range(RANKS)])
    assert_trained(codes, printed, RANKS)


def test_mindspore_example_trains_with_the_variables_of_volcano(
    run_all: Callable[..., Any], port: int
) -> None:
    """Three workers find each other by VC_WORKER_HOSTS and VC_TASK_INDEX."""
    words = [sys.executable, str(EXAMPLES / "mindspore" / "train.py")]
    job = {"VC_WORKER_HOSTS": "127.0.0.1,127.0.0.1,127.0.0.1", "MS_SCHED_PORT": str(port)}
    codes, printed = run_all([(words, job | {"VC_TASK_INDEX": str(i)}) for i in range(RANKS)])
    assert_trained(codes, printed, RANKS)


def launch(order: str, port: int, node: int, *, join: str = "True") -> list[str]:
    """What dlf makes of the command of mindformers: two nodes with two processes each."""
    words = ["bash", str(LAUNCHER), order, "4", "2", "127.0.0.1", str(port), str(node)]
    return [*words, "output/msrun_log", join, "7200"]


def test_mindformers_example_trains_by_the_launcher(run_all: Callable[..., Any], port: int) -> None:
    """The nine-argument form on two nodes starts two ranks on each."""
    script = str(EXAMPLES / "mindformers" / "train.py")
    codes, printed = run_all([(launch(script, port, node), {}) for node in range(2)])
    assert_trained(codes, printed, ranks=4)


def test_mindformers_launcher_fails_with_its_worker(run_all: Callable[..., Any], port: int) -> None:
    """A worker that fails ends the others of its node, and its code is the node's."""
    order = '-c \'import os, time; os.environ["MS_NODE_ID"] == "1" or time.sleep(600); exit(7)\''
    codes, _ = run_all([(launch(order, port, node=0), {})])
    assert [7] == codes


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            launch("train.py", 8118, node=0, join="False"), id="would end before training"
        ),
        pytest.param(["bash", str(LAUNCHER), "train.py", "3"], id="other number of arguments"),
    ],
)
def test_mindformers_launcher_refuses(words: list[str], run_all: Callable[..., Any]) -> None:
    """What MindFormers' own launcher would answer with success, or not understand, is an error."""
    codes, _ = run_all([(words, {})])
    assert [2] == codes


@pytest.mark.parametrize(
    ("rank", "message"),
    [
        pytest.param(0, r"ranks \[1, 2\] never connected", id="master"),
        pytest.param(1, "no master at 127.0.0.1", id="worker"),
    ],
)
def test_process_group_gives_up_at_its_deadline(
    rank: int, message: str, process_group: ModuleType, port: int
) -> None:
    """A rank that waits for others in vain says for whom."""
    with pytest.raises(TimeoutError, match=message):
        process_group.ProcessGroup.join("127.0.0.1", port, rank, RANKS, patience=0.0)


def test_process_group_tells_a_lost_rank(process_group: ModuleType, port: int) -> None:
    """When a rank has gone, an all-reduce fails instead of waiting."""

    def join_and_leave() -> None:
        with process_group.ProcessGroup.join("127.0.0.1", port, rank=1, world_size=2):
            pass

    other = threading.Thread(target=join_and_leave, daemon=True)
    other.start()
    with (
        process_group.ProcessGroup.join("127.0.0.1", port, rank=0, world_size=2) as group,
        pytest.raises(ConnectionError),
    ):
        group.all_reduce([1.0])
    other.join()


def test_process_group_ignores_strangers(process_group: ModuleType, port: int) -> None:
    """A connection that is not from a rank, such as a health check, does not disturb the others."""
    sums = []

    def knock_then_join() -> None:
        process_group._connect("127.0.0.1", port, deadline=time.monotonic() + PATIENCE).close()
        with process_group.ProcessGroup.join("127.0.0.1", port, rank=1, world_size=2) as group:
            sums.append(group.all_reduce([2.0, 3.0]))

    other = threading.Thread(target=knock_then_join, daemon=True)
    other.start()
    with process_group.ProcessGroup.join("127.0.0.1", port, rank=0, world_size=2) as group:
        sums.append(group.all_reduce([0.5, 0.25]))
    other.join()
    assert [[2.5, 3.25]] * 2 == sums


@pytest.mark.parametrize("framework", SUMMARIES)
def test_example_commands_are_accepted(framework: str) -> None:
    """Every command of an example's README renders, those for this machine and for a cluster."""
    readme = (EXAMPLES / framework / "README.md").read_text()
    assert (EXAMPLES / framework / "train.py").is_file()
    commands = re.findall(r"(?m)^    (?:KFJ_\S+ )?dlf (?:.*\\\n)*.*\n", readme)
    assert {"--runtime local" in command for command in commands} == {True, False}
    for command in commands:
        words = shlex.split(command.replace("\\\n", ""))
        start = words.index("dlf")
        env = dict(word.split("=", 1) for word in words[:start])
        assert ExitCode.SUCCEEDED == main([*words[start:], "--dry-run"], edge(env))


def edge(env: dict[str, str]) -> Edge:
    """A process that prints to nowhere."""
    return Edge(
        env=env,
        out=lambda _: None,
        notify=pytest.fail,
        stdout=-1,
        terminal=False,
        width=80,
        run=lambda _: pytest.fail("a dry run does nothing"),
        token=lambda digits: "0" * digits,
    )
