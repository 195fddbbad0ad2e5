"""The rendered command does in a real shell what it says: ranks, the user's values, quoting."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from frameworks.cases import RENDERINGS, as_json, pod_templates, render, rendering_id

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.paddlejob import PADDLEJOB
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB

PRINT = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
SHELL = [
    (name, kind)
    for name, kind in RENDERINGS
    if kind.name != "MPIJob"  # there mpirun hands the command to bash
]
TORCH = [
    ("pytorch", PYTORCHJOB),
    ("mindformers", PYTORCHJOB),
    ("deepspeed", VOLCANO_JOB),
    ("megatron", VOLCANO_JOB),
    ("colossalai", VOLCANO_JOB),
]


def containers(name: str, kind: JobKind, argv: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The container of each role."""
    rendered = as_json(render(name, kind, argv))
    return {role: t["spec"]["containers"][0] for role, _, t in pod_templates(rendered)}


def run(
    container: Mapping[str, Any], operator: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a container's command; the operator's variables come after the container's own.

    Like kubelet, take `$$` for one dollar sign.
    """
    own = {
        each["name"]: each["value"].replace("$$", "$") if "value" in each else "field"
        for each in container["env"]
    }
    return subprocess.run(
        [word.replace("$$", "$") for word in container["command"]],
        env={"PATH": "/usr/bin:/bin"} | own | dict(operator),
        capture_output=True,
        text=True,
        timeout=30,
    )


def environment(container: Mapping[str, Any], operator: Mapping[str, str]) -> dict[str, str]:
    """What the user's command sees."""
    done = run(container, operator)
    assert (0, "") == (done.returncode, done.stderr)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "operator",
    [
        pytest.param({"RANK": "2"}, id="training-operator 1.6"),
        pytest.param(
            {"RANK": "2", "PET_NODE_RANK": "2", "PET_NNODES": "3", "PET_NPROC_PER_NODE": "auto"},
            id="training-operator 1.8",
        ),
    ],
)
def test_pytorch_has_torchrun_s_rank_under_every_operator(operator: dict[str, str]) -> None:
    """A process per GPU, whatever the operator sets; ranks are the operator's."""
    found = environment(containers("pytorch", PYTORCHJOB, ["--command", PRINT])["Worker"], operator)
    assert ("2", "2", "1", "3") == tuple(
        found[name] for name in ("RANK", "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_NNODES")
    )


@pytest.mark.parametrize("name", ["deepspeed", "colossalai"])
def test_volcano_counts_ranks_from_the_index(name: str) -> None:
    """The env plugin numbers the pods of a task."""
    (worker,) = containers(name, VOLCANO_JOB, ["--command", PRINT]).values()
    found = environment(worker, {"VC_TASK_INDEX": "1"})
    assert ("1", "1") == (found["RANK"], found["PET_NODE_RANK"])


def test_megatron_counts_ranks_through_its_roles() -> None:
    """Each role starts where the one before it ended."""
    roles = containers(
        "megatron", VOLCANO_JOB, ["--cluster", "head=1,worker=3,tail=2", "--command", PRINT]
    )
    found = {
        (role, index): environment(container, {"VC_TASK_INDEX": str(index)})["PET_NODE_RANK"]
        for role, container in roles.items()
        for index in (0, 1)
    }
    assert {
        ("head", 0): "0",
        ("head", 1): "1",
        ("worker", 0): "1",
        ("worker", 1): "2",
        ("tail", 0): "4",
        ("tail", 1): "5",
    } == found


@pytest.mark.parametrize(("index", "role"), [("0", "scheduler"), ("3", "worker")])
def test_mxnet_on_volcano_numbers_its_workers(index: str, role: str) -> None:
    """Only workers have a number."""
    container = containers("mxnet", VOLCANO_JOB, ["--command", PRINT])[role]
    found = environment(container, {"VC_TASK_INDEX": index})
    assert (index if role == "worker" else None) == found.get("DMLC_WORKER_ID")


@pytest.mark.parametrize(
    ("flags", "role", "index", "expected"),
    [
        ([], "Worker", "1", ("1", "log/pod-1")),
        (["--num_ps", "2"], "Master", "1", ("1", "log/pod-1")),
        (["--num_ps", "2"], "Worker", "1", ("3", "log/pod-1")),
        (["--env", "PADDLE_RANK=7", "--env", "PADDLE_LOG_DIR=x"], "Worker", "1", ("7", "x")),
    ],
)
def test_paddle_ranks_follow_the_pods(
    flags: list[str], role: str, index: str, expected: tuple[str, str]
) -> None:
    """paddle.distributed.launch ranks by random names unless it is told; servers come first."""
    container = containers("paddle", PADDLEJOB, [*flags, "--command", PRINT])[role]
    pod = {"DLF_REPLICA_INDEX": index, "DLF_POD_NAME": f"pod-{index}"}
    found = environment(container, pod)
    assert expected == (found["PADDLE_RANK"], found["PADDLE_LOG_DIR"])


def test_paddle_flags_of_the_command_are_left_alone() -> None:
    """The launcher's variables would win over them."""
    command = f"{PRINT} --rank 1 --log_dir mine"
    (container,) = containers("paddle", PADDLEJOB, ["--command", command]).values()
    assert {"PADDLE_RANK", "PADDLE_LOG_DIR"}.isdisjoint(environment(container, {}))


@pytest.mark.parametrize(("name", "kind"), TORCH, ids=rendering_id)
def test_env_flag_wins_over_the_prelude(name: str, kind: JobKind) -> None:
    """A user who sets a value knows why; odd characters in it are kept."""
    argv = ["--command", PRINT if name != "mindformers" else f"{PRINT} ignored"]
    values = {"PET_NODE_RANK": "7", "PET_NPROC_PER_NODE": "it's $2", "RANK": "9"}
    argv += [word for key, value in values.items() for word in ("--env", f"{key}={value}")]
    operator = {"VC_TASK_INDEX": "1", "PET_NPROC_PER_NODE": "auto"}
    if kind == VOLCANO_JOB:  # which sets nothing of torchrun's
        del operator["PET_NPROC_PER_NODE"]
    for container in containers(name, kind, argv).values():
        found = environment(container, operator)
        assert values == {key: found[key] for key in values}


COMMANDS = {
    "quotes": (r"""printf '%s|' "it's" 'a "b"' a\ b""", """it's|a "b"|a b|"""),
    "variables": ("A=1; printf '%s' \"$A${B:-2}$(echo 3)`echo 4`\"", "1234"),
    "lines": ("for i in 1 2\ndo\n  printf $i\ndone\n", "12"),
    "here document": ("cat <<'END'\n$A\nEND\n", "$A\n"),
    "name of the shell": ('printf %s "$0"', "bash"),
    "no arguments": ('printf %s "$#"', "0"),
    "comment": ("printf 1 # 2", "1"),
    "not ASCII": ("printf 训练", "训练"),
}


# mindformers is not among them: its command ends in arguments.
PLAIN = [(name, kind) for name, kind in SHELL if name != "mindformers"]


@pytest.mark.parametrize(("name", "kind"), PLAIN, ids=rendering_id)
@pytest.mark.parametrize("case", COMMANDS)
def test_command_is_run_as_bash_would_run_it(name: str, kind: JobKind, case: str) -> None:
    """What the prelude adds cannot be seen from the command."""
    command, expected = COMMANDS[case]
    for container in containers(name, kind, ["--command", command]).values():
        done = run(container, {"VC_TASK_INDEX": "0", "RANK": "0"})
        assert (0, expected, "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("name", "kind"), SHELL, ids=rendering_id)
@pytest.mark.parametrize(("command", "expected"), [("exit 7", 7), ("kill -TERM $$", -15)])
def test_command_s_end_is_the_container_s(
    name: str, kind: JobKind, command: str, expected: int
) -> None:
    """Exit codes pass, and a signal ends the one process that there is."""
    for container in containers(name, kind, ["--command", f"{command};"]).values():
        assert expected == run(container, {"VC_TASK_INDEX": "0"}).returncode


@pytest.mark.parametrize(("gpu", "processes", "local"), [("0", "3", "1"), ("8", "24", "8")])
def test_mindformers_calls_its_launcher_with_nine_arguments(
    gpu: str, processes: str, local: str
) -> None:
    """The user's own first, then those of the job; each pod fills in its rank."""
    command = "printf '%s|' \"run_mindformer.py --config 'a b'\"\n"
    env = {"KFJ_TASK_IMAGES": "a", "KFJ_TASK_RESOURCE_GPU": gpu}
    rendered = as_json(render("mindformers", PYTORCHJOB, ["--command", command], env))
    for _, _, template in pod_templates(rendered):
        done = run(
            template["spec"]["containers"][0],
            {"MASTER_ADDR": "host-0", "MASTER_PORT": "23456", "RANK": "2"},
        )
        assert [
            *("run_mindformer.py --config 'a b'", processes, local),
            *("host-0", "23456", "2", "output/msrun_log", "True", "7200", ""),
        ] == done.stdout.split("|")
