"""What each of several processes is called with and told."""

import pytest

from dlf.local.accelerators import Accelerators
from dlf.worker.children import children, numbered

_TWO = Accelerators("CUDA_VISIBLE_DEVICES", ("0", "1"))


def _env(
    processes: int, process_env: str, accelerators: Accelerators | None = None, **env: str
) -> list[dict[str, str]]:
    made = children(
        ["train"],
        env,
        processes=processes,
        process_env=process_env,
        cpus=8,
        accelerators=accelerators,
    )
    return [child.env for child in made]


def test_processes_are_numbered_as_in_the_platforms_recipe() -> None:
    """`start.sh` appends --process_index I --process_num N; the environment is the container's."""
    made = children(
        ["python", "t.py", "--lr", "1"],
        {"A": "b"},
        processes=2,
        process_env="",
        cpus=8,
        accelerators=_TWO,
    )
    assert [
        (
            0,
            ["python", "t.py", "--lr", "1", "--process_index", "0", "--process_num", "2"],
            {"A": "b"},
        ),
        (
            1,
            ["python", "t.py", "--lr", "1", "--process_index", "1", "--process_num", "2"],
            {"A": "b"},
        ),
    ] == made


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("python t.py", "python t.py --i 0", id="words"),
        pytest.param("bash|-c|cd a; python t.py\n", "bash|-c|cd a; python t.py --i 0", id="shell"),
        pytest.param(
            'bash|-c|export A=1; exec bash -c "$0"|python t.py',
            'bash|-c|export A=1; exec bash -c "$0"|python t.py --i 0',
            id="prelude",
        ),
        pytest.param("bash|-c|f $1|name", "bash|-c|f $1|name|--i|0", id="arguments of a script"),
        pytest.param("a|-c|b", "a|-c|b|--i|0", id="no shell"),
    ],
)
def test_arguments_reach_the_users_command(command: str, expected: str) -> None:
    """What a shell runs is text, so its arguments go to the end of the text."""
    words = command.split("|" if "|" in command else " ")
    assert expected.split("|" if "|" in expected else " ") == numbered(words, "--i 0")


def test_one_process_is_the_command_itself() -> None:
    made = children(["train"], {}, processes=1, process_env="", cpus=8, accelerators=None)
    assert [(0, ["train"], {})] == made


def test_process_env_numbers_by_variables_and_shares_the_processors() -> None:
    first, second = _env(2, "auto")
    names = ("PROCESS_INDEX", "PROCESS_NUM", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS")
    assert [("0", "2", "0", "2", "4"), ("1", "2", "1", "2", "4")] == [
        tuple(env[name] for name in names) for env in (first, second)
    ]


def test_a_number_of_threads_that_is_set_stays() -> None:
    assert ["3", "3"] == [env["OMP_NUM_THREADS"] for env in _env(2, "auto", OMP_NUM_THREADS="3")]


@pytest.mark.parametrize(
    ("accelerators", "processes", "expected"),
    [
        pytest.param(4, 2, ["0,1", "2,3"], id="equal parts"),
        pytest.param(3, 2, ["0", "1,2"], id="as equal as they can be"),
        pytest.param(1, 3, ["0", "0", "0"], id="one accelerator for all"),
        pytest.param(2, 4, ["0", "0", "1", "1"], id="two on each"),
    ],
)
def test_accelerators_are_split(accelerators: int, processes: int, expected: list[str]) -> None:
    names = Accelerators("CUDA_VISIBLE_DEVICES", tuple(map(str, range(accelerators))))
    assert expected == [env[names.variable] for env in _env(processes, "split", names)]


def test_shared_accelerators_are_left_as_they_are() -> None:
    given = [env.get("CUDA_VISIBLE_DEVICES") for env in _env(2, "share", _TWO)]
    assert [None, None] == given
