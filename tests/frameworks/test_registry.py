"""The registry, the flags that the platform's templates use, and what bad ones are told."""

import ast
from pathlib import Path
from typing import Any

import pytest
from frameworks.cases import RENDERINGS, as_json, pod_templates, render, rendering_id

import dlf.frameworks
from dlf.errors import ExitCode, UsageError
from dlf.frameworks import SUMMARIES, job_kinds, load_framework, megatron
from dlf.frameworks.framework import candidates
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1
from dlf.manifest.jobs.mxjob import MXJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.task.flag import settings_of
from dlf.task.load import load, split
from dlf.task.settings import TaskSettings

FOLDER = Path(dlf.frameworks.__file__).parent


def test_every_framework_file_is_registered() -> None:
    """A module that declares FRAMEWORK is in SUMMARIES under its own name."""
    declaring = {
        file.stem
        for file in FOLDER.glob("*.py")
        for statement in ast.parse(file.read_text()).body
        if isinstance(statement, ast.Assign)
        and [ast.unparse(target) for target in statement.targets] == ["FRAMEWORK"]
    }
    assert declaring == set(SUMMARIES)
    assert [*SUMMARIES] == [load_framework(name).name for name in SUMMARIES]


def test_every_other_file_is_a_shared_part() -> None:
    """Nothing else lies in the folder but parts (`_name.py`) and the record."""
    files = {file.stem for file in FOLDER.glob("*.py")}
    parts = {stem for stem in files if stem.startswith("_")}
    assert {"framework"} == files - parts - set(SUMMARIES)


def test_every_kind_is_used() -> None:
    """No resource is declared for nothing."""
    assert set(job_kinds()) == {kind for name in SUMMARIES for kind in load_framework(name).kinds}


@pytest.mark.parametrize(
    ("name", "backend", "expected"),
    [
        ("mxnet", "auto", (MXJOB, VOLCANO_JOB)),
        ("mxnet", "kubeflow", (MXJOB,)),
        ("mxnet", "volcano", (VOLCANO_JOB,)),
        ("mpi", "auto", (MPIJOB, MPIJOB_V2BETA1)),
        ("deepspeed", "volcano", (VOLCANO_JOB,)),
    ],
)
def test_backend_limits_the_kinds(name: str, backend: str, expected: tuple[JobKind, ...]) -> None:
    """The preferred kind stays first."""
    assert expected == candidates(load_framework(name), backend)


@pytest.mark.parametrize(("name", "backend"), [("tf", "volcano"), ("deepspeed", "kubeflow")])
def test_backend_that_a_framework_has_not_is_a_usage_error(name: str, backend: str) -> None:
    """One line that says what to write."""
    with pytest.raises(UsageError) as caught:
        candidates(load_framework(name), backend)
    assert f"--backend={backend!r} is not possible for {name}; write auto" == caught.value.message


COMMAND, DIRECTORY = "python3 mnist.py", "/mnt/"
# The flags and defaults of the platform's templates, framework by framework.
PLATFORM: list[tuple[str, dict[str, Any]]] = [
    (
        "tf",
        {
            "image": "",
            "working_dir": DIRECTORY,
            "command": COMMAND,
            "num_worker": 3,
            "num_ps": 0,
            "num_chief": 0,
            "num_evaluator": 0,
        },
    ),
    ("pytorch", {"image": "", "working_dir": DIRECTORY, "command": COMMAND, "num_worker": 3}),
    (
        "paddle",
        {
            "image": "",
            "working_dir": DIRECTORY,
            "command": COMMAND,
            "num_ps": 0,
            "num_worker": 3,
        },
    ),
    ("deepspeed", {"image": "", "working_dir": DIRECTORY, "command": COMMAND, "num_worker": 3}),
    (
        "horovod",
        {
            "work_images": "ccr.ccs.tencentyun.com/cube-studio/horovod:20210401",
            "working_dir": "/mnt/admin",
            "command": COMMAND,
            "num_worker": 2,
        },
    ),
    (
        "megatron",
        {
            "image": "",
            "working_dir": DIRECTORY,
            "command": COMMAND,
            "cluster": (("worker", 3),),
        },
    ),
    (
        "colossalai",
        {
            "work_images": "hpcaitech/colossalai:0.3.0",
            "working_dir": "/mnt/admin/pipeline/example/colossalai/",
            "command": "bash start.sh",
            "num_worker": 2,
        },
    ),
    ("mindspore", {"image": "", "working_dir": DIRECTORY, "command": COMMAND, "num_worker": 3}),
    ("mindformers", {"image": "", "working_dir": DIRECTORY, "command": COMMAND, "num_worker": 3}),
    (
        "mpi",
        {
            "work_images": "horovod/horovod:0.20.0-tf2.3.0-torch1.6.0-mxnet1.5.0-py3.7-cpu",
            "working_dir": "/mnt/admin",
            "command": "python /examples/tensorflow2_mnist.py",
            "num_worker": 2,
        },
    ),
    ("jax", {"image": "", "working_dir": DIRECTORY, "command": COMMAND, "num_worker": 3}),
    (
        "mxnet",
        {
            "image": "",
            "working_dir": DIRECTORY,
            "command": COMMAND,
            "num_ps": 0,
            "num_worker": 3,
        },
    ),
]
OURS = {s.key for s in settings_of(TaskSettings) if s.option}
OURS |= {"slots_per_worker", "min_worker", "max_worker"}
OURS -= {"image", "working_dir", "command"}


@pytest.mark.parametrize(("name", "expected"), PLATFORM)
def test_framework_has_the_flags_and_defaults_of_the_platform(
    name: str, expected: dict[str, Any]
) -> None:
    """A template that calls the old launcher calls dlf with the same words."""
    actual = {s.key: s.default for s in settings_of(load_framework(name).settings) if s.option}
    assert expected == {key: value for key, value in actual.items() if key not in OURS}


def test_flags_of_the_platform_are_those_of_all_frameworks() -> None:
    """The table above has every framework."""
    assert sorted(SUMMARIES) == sorted(name for name, _ in PLATFORM)


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_platform_s_image_is_used_when_the_flag_is_image(name: str, kind: JobKind) -> None:
    """KFJ_TASK_IMAGES fills in for an empty --image; --work_images has defaults of its own."""
    has_own = "work_images" in {s.key for s in settings_of(load_framework(name).settings)}
    default = load_framework(name).settings().image
    rendered = render(name, kind, env={"KFJ_TASK_IMAGES": "platform:1"})
    images = {
        container["image"]
        for _, _, template in pod_templates(as_json(rendered))
        for container in template["spec"]["containers"]
    }
    assert {default if has_own else "platform:1"} == images


WORKERS = [f for f in SUMMARIES if f != "megatron"]
BAD = [
    *[(f, ["--num_worker", "0"], "--num_worker='0' is not valid; write a whole") for f in WORKERS],
    *[(f, ["--num_worker", "2.5"], "--num_worker='2.5' is not valid; write") for f in WORKERS],
    *[
        (f, ["--num_ps", "-1"], "--num_ps='-1' is not valid; write a whole number")
        for f in ("paddle", "mxnet", "tf")
    ],
    *[
        (f, ["--slots_per_worker", "0"], "--slots_per_worker='0' is not valid; write a")
        for f in ("horovod", "mpi")
    ],
    *[
        (f, ["--work_images", "a b"], "--work_images='a b' is not valid; write an image")
        for f in ("horovod", "mpi", "colossalai")
    ],
    *[(f, ["--image", "x"], "unknown flag '--image'") for f in ("horovod", "mpi", "colossalai")],
    *[
        (f, ["--work_images", "x"], "unknown flag '--work_images'")
        for f in SUMMARIES
        if f not in {"horovod", "mpi", "colossalai"}
    ],
    ("tf", ["--num_chief", "2"], "--num_chief='2' is not valid; write 0 or 1"),
    ("tf", ["--num_evaluator", "2"], "--num_evaluator='2' is not valid; write 0 or 1"),
    ("megatron", ["--num_worker", "3"], "unknown flag '--num_worker'"),
    (
        "megatron",
        ["--cluster", "worker"],
        "--cluster='worker' contains 'worker', which is not",
    ),
    (
        "megatron",
        ["--cluster", "worker=0"],
        "--cluster='worker=0' contains 'worker=0', which is",
    ),
    ("megatron", ["--cluster", "a=1,a=2"], "--cluster='a=1,a=2' names the role 'a' twice; write"),
    (
        "megatron",
        ["--cluster", "Worker=1"],
        "--cluster='Worker=1' contains 'Worker=1', which is not",
    ),
    ("megatron", ["--cluster", "1a=1"], "--cluster='1a=1' contains '1a=1', which is not"),
    ("megatron", ["--cluster", f"{'a' * 21}=1"], f"--cluster='{'a' * 21}=1' contains"),
    ("megatron", ["--cluster", ";"], "--cluster=';' is not valid; write role=n, such as worker=3"),
]


@pytest.mark.parametrize(("name", "argv", "message"), BAD)
def test_bad_flag_is_a_usage_error_in_one_line(name: str, argv: list[str], message: str) -> None:
    """Exit code 2, with the flag, its value and what to write."""
    settings = load_framework(name).settings
    with pytest.raises(UsageError) as caught:
        load(settings, split(argv, settings), {})
    assert ExitCode.USAGE == caught.value.exit_code
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker=3", (("worker", 3),)),
        ("master=1\nworker=3", (("master", 1), ("worker", 3))),
        ("master:1\n worker : 3 \n", (("master", 1), ("worker", 3))),
        ("master=1;worker:3", (("master", 1), ("worker", 3))),
        ("master=1,worker=3,", (("master", 1), ("worker", 3))),
    ],
)
def test_cluster_reads_every_form(text: str, expected: tuple[tuple[str, int], ...]) -> None:
    """Roles in the order of their ranks, one a line or separated."""
    settings = load_framework("megatron").settings
    task = load(settings, split(["--cluster", text], settings), {})
    assert isinstance(task, megatron.MegatronSettings)
    assert expected == task.cluster


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_unknown_vendor_needs_the_name_of_its_resource(name: str, kind: JobKind) -> None:
    """The platform may know more vendors than dlf: then GPU_RESOURCE_NAME says what to claim."""
    env = {"KFJ_TASK_RESOURCE_GPU": "1(xpu,R200)"}
    with pytest.raises(UsageError, match=r"^GPU vendor 'xpu' is unknown"):
        render(name, kind, env=env)
    rendered = as_json(render(name, kind, env=env | {"GPU_RESOURCE_NAME": "example.com/xpu"}))
    claims = [
        template["spec"]["containers"][0].get("resources", {}).get("limits", {})
        for role, _, template in pod_templates(rendered)
        if role != "Launcher"
    ]
    assert [{"example.com/xpu": "1"}] * len(claims) == claims
