"""Command line and environment to settings: which source wins, and what is said of bad input."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from dlf.errors import UsageError
from dlf.task.flag import Setting, settings_of
from dlf.task.load import load, split
from dlf.task.mounts import Mount
from dlf.task.placement import ToleratedTaint
from dlf.task.resources import Amount, Gpu, RoleResources
from dlf.task.settings import Connection, Lifecycle, Logs, Run, Workers

GROUPS = (Workers, Run, Connection, Lifecycle, Logs)

# A text that each setting accepts, and its value.
SAMPLES: dict[str, tuple[str, Any]] = {
    "run_id": ("run 1", "run 1"),
    "task_id": ("7", "7"),
    "task_name": ("训练", "训练"),
    "pipeline_id": ("8", "8"),
    "pipeline_name": ("mnist", "mnist"),
    "creator": ("zhang.san", "zhang.san"),
    "runner": ("li.si", "li.si"),
    "project": ("research", "research"),
    "cpu": ("2~4", Amount("2", "4")),
    "memory": ("8Gi", Amount("8Gi", "8Gi")),
    "role": (
        "worker:cpu=1~2,memory=8Gi",
        (RoleResources("worker", (("cpu", Amount("1", "2")), ("memory", Amount("8Gi", "8Gi")))),),
    ),
    "gpu": ("1(V100)", Gpu(1, "V100")),
    "gpu_resource": ("huawei.com/Ascend910", "huawei.com/Ascend910"),
    "rdma": ("1", 1),
    "rdma_resource": ("rdma/hca", "rdma/hca"),
    "node_selector": ("org=a,b", {"org": ("a", "b")}),
    "volumes": ("a(pvc):/a", (Mount("pvc", "a", "/a"),)),
    "toleration": (
        "a=b:NoSchedule,c",
        (ToleratedTaint("a", "b", "NoSchedule"), ToleratedTaint("c", None, "")),
    ),
    "shm_size": ("8Gi", "8Gi"),
    "service_account": ("trainer", "trainer"),
    "host_network": ("true", True),
    "inject_sidecars": ("true", True),
    "pull_secrets": ("a,b", ("a", "b")),
    "pull_policy": ("Always", "Always"),
    "default_resources": ('{"cpu": 1}', {"cpu": "1"}),
    "scheduler": ("volcano", "volcano"),
    "image": ("train:2", "train:2"),
    "working_dir": ("/srv/my dir", "/srv/my dir"),
    "command": ("python3 train.py --lr 0.1", "python3 train.py --lr 0.1"),
    "env": ("A=b", (("A", "b"),)),
    "priority_class": ("high", "high"),
    "queue": ("team-a", "team-a"),
    "max_retry": ("2", 2),
    "ttl": ("1d", 86400.0),
    "clean_pod_policy": ("All", "All"),
    "num_worker": ("5", 5),
    "runtime": ("local", "local"),
    "dry_run": ("server", "server"),
    "detach": ("true", True),
    "output": ("json", "json"),
    "backend": ("volcano", "volcano"),
    "namespace": ("pipeline", "pipeline"),
    "kubeconfig": ("/root/config", "/root/config"),
    "context": ("prod", "prod"),
    "api_outage": ("1m", 60.0),
    "verbose": ("true", True),
    "on_existing": ("fail", "fail"),
    "on_exit": ("keep", "keep"),
    "no_owner": ("yes", True),
    "start_timeout": ("2h", 7200.0),
    "hang_timeout": ("30m", 1800.0),
    "timeout": ("1d", 86400.0),
    "strict": ("on", True),
    "report": ("report.json", "report.json"),
    "log_format": ("json", "json"),
    "prefix": ("short", "short"),
    "timestamps": ("1", True),
    "include": ("loss|error", (re.compile(b"loss|error"),)),
    "exclude": ("debug", (re.compile(b"debug"),)),
    "highlight": ("nan", (re.compile(b"nan"),)),
    "container": ("^pytorch$", re.compile(b"^pytorch$")),
    "log_ranks": ("0,-1", (0, -1)),
    "log_dir": ("logs", "logs"),
    "log_collapse": ("1", True),
    "max_log_streams": ("9", 9),
    "worker": ("/usr/bin/dlf", "/usr/bin/dlf"),
    "worker_image": ("dlf:1", "dlf:1"),
    "processes": ("2", 2),
    "process_env": ("split", "split"),
    "grace": ("30s", 30.0),
    "wait_peers": ("true", True),
    "wait_timeout": ("1h", 3600.0),
    "hostfile": ("/job/hostfile", "/job/hostfile"),
    "hostfile_form": ("hosts", "hosts"),
    "slots": ("8", 8),
    "remote": ("true", True),
    "remote_port": ("2222", 2222),
    "token_file": ("/etc/token", "/etc/token"),
    "stacks": ("true", True),
}

SETTINGS = [(cls, setting) for cls in GROUPS for setting in settings_of(cls)]
FLAGS = [(cls, setting) for cls, setting in SETTINGS if setting.option]
VARIABLES = [(cls, s, variable) for cls, s in SETTINGS for variable in s.variables]


def named(value: Any) -> str | None:
    return value.name if isinstance(value, Setting) else None


def value_of(
    cls: Any, setting: Setting, argv: Sequence[str] = (), env: dict[str, str] | None = None
) -> Any:
    return getattr(load(cls, split(argv, *GROUPS), env or {}), setting.name)


def load_all(argv: Sequence[str], env: dict[str, str]) -> None:
    for cls in GROUPS:
        load(cls, split(argv, *GROUPS), env)


def usage_error(argv: Sequence[str] = (), env: dict[str, str] | None = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load_all(argv, env or {})
    assert "\n" not in caught.value.message + caught.value.hint
    return caught.value


def test_samples_cover_every_setting() -> None:
    """A new setting comes with a sample here, and so with the tests below."""
    assert sorted(SAMPLES) == sorted(setting.name for _, setting in SETTINGS)


@pytest.mark.parametrize(("cls", "setting"), FLAGS, ids=named)
@pytest.mark.parametrize("dash", ["_", "-"])
def test_flag_is_read_with_either_dash(cls: Any, setting: Setting, dash: str) -> None:
    """`_` and `-` are the same in a flag, and so are `--flag value` and `--flag=value`."""
    text, expected = SAMPLES[setting.name]
    flag = "--" + setting.key.replace("_", dash)
    assert expected == value_of(cls, setting, [f"{flag}={text}"])
    if setting.flag.form in {"value", "repeat"}:
        assert expected == value_of(cls, setting, [flag, text])


@pytest.mark.parametrize(("cls", "setting", "variable"), VARIABLES, ids=named)
def test_variable_is_read(cls: Any, setting: Setting, variable: str) -> None:
    """Each variable sets its setting, with blanks around the value dropped."""
    text, expected = SAMPLES[setting.name]
    assert expected == value_of(cls, setting, env={variable: f" {text}\n"})


@pytest.mark.parametrize(("cls", "setting", "variable"), VARIABLES, ids=named)
@pytest.mark.parametrize("empty", ["", "  \n"], ids=["empty", "blank"])
def test_empty_variable_counts_as_unset(
    cls: Any, setting: Setting, variable: str, empty: str
) -> None:
    """The platform sets variables it has no value for to nothing."""
    assert setting.default == value_of(cls, setting, env={variable: empty})


@pytest.mark.parametrize(("cls", "setting"), FLAGS, ids=named)
def test_empty_flag_counts_as_not_given(cls: Any, setting: Setting) -> None:
    """A form field that was left empty may arrive as an empty value."""
    assert setting.default == value_of(cls, setting, [f"{setting.option}="])


def test_flag_wins_over_own_variable_over_platform_over_default() -> None:
    """The order of the sources, weakest last."""
    platform = {"KFJ_TASK_IMAGES": "platform"}
    own = platform | {"DLF_IMAGE": "own"}
    image = next(s for s in settings_of(Workers) if s.name == "image")
    assert "flag" == value_of(Workers, image, ["--image", "flag"], own)
    assert "own" == value_of(Workers, image, ["--image", ""], own)
    assert "own" == value_of(Workers, image, [], own)
    assert "platform" == value_of(Workers, image, [], platform | {"DLF_IMAGE": ""})
    assert "" == value_of(Workers, image)


def test_last_flag_wins_and_env_collects() -> None:
    """A flag given twice overrides itself, except the one that is meant to be repeated."""
    task = load(
        Workers,
        split(["--num_worker=2", "--num-worker", "4", "--env", "A=1", "--env=A=2"], Workers),
        {},
    )
    assert (4, (("A", "1"), ("A", "2"))) == (task.num_worker, task.env)


def test_env_variable_holds_one_assignment_a_line() -> None:
    """DLF_ENV is the one variable that has several values."""
    assert (("A", "1 2"), ("B", "3")) == load(
        Workers, split([], Workers), {"DLF_ENV": "A=1 2\nB=3"}
    ).env


def test_env_of_the_flag_replaces_that_of_the_variable() -> None:
    """Sources are not mixed."""
    arguments = split(["--env", "B=2"], Workers)
    assert (("B", "2"),) == load(Workers, arguments, {"DLF_ENV": "A=1"}).env


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--dry-run"], "client"),
        (["--dry_run"], "client"),
        (["--dry-run=server"], "server"),
        ([], ""),
    ],
)
def test_dry_run_takes_a_value_only_when_joined(argv: list[str], expected: str) -> None:
    """The next word belongs to whatever comes next."""
    assert expected == load(Run, split(argv, Run), {}).dry_run


def test_switch_takes_no_word() -> None:
    """What follows a switch is not its value."""
    arguments = split(["--strict", "no", "--verbose=false"], *GROUPS)
    assert load(Lifecycle, arguments, {}).strict
    assert not load(Connection, arguments, {}).verbose
    assert ["no"] == arguments.positional


def test_value_may_begin_with_dashes() -> None:
    """A training command is passed on as it is, unless it is a flag of ours."""
    arguments = split(["--command", "--help me", "--image", "-1"], *GROUPS)
    task = load(Workers, arguments, {})
    assert ("--help me", "-1") == (task.command, task.image)


def test_command_keeps_its_blanks_and_lines() -> None:
    """So does the value of `--env`."""
    text = " cd /srv\npython3 train.py "
    task = load(Workers, split(["--command", text, "--env", "A= b "], Workers), {})
    assert (text, (("A", " b "),)) == (task.command, task.env)


@pytest.mark.parametrize(
    ("argv", "name", "expected"),
    [
        (["--num_worker", "2 "], "num_worker", 2),
        (["--image", "i:1 "], "image", "i:1"),
        (["--working_dir", " /mnt/x "], "working_dir", "/mnt/x"),
        (["--image", " "], "image", "platform"),
    ],
)
def test_flag_loses_the_blanks_around_its_value(argv: list[str], name: str, expected: Any) -> None:
    """A web form hands them over; blanks alone count as not given."""
    task = load(Workers, split(argv, Workers), {"KFJ_TASK_IMAGES": "platform"})
    assert expected == getattr(task, name)


def test_tolerated_value_comes_with_a_warning_that_names_its_source() -> None:
    """What old launchers took is taken, and said."""
    arguments = split([], Workers)
    task = load(Workers, arguments, {"KFJ_TASK_NODE_SELECTOR": "a=b=c"})
    assert {"a": ("b",)} == task.node_selector
    assert [
        "KFJ_TASK_NODE_SELECTOR='a=b=c' is malformed, ignoring '=c';"
        " write key=value, such as train=true"
    ] == arguments.warnings


def test_words_after_two_dashes_are_positional() -> None:
    """The usual end of the flags."""
    arguments = split(["a", "--strict", "--", "--image", "b"], *GROUPS)
    assert ["a", "--image", "b"] == arguments.positional


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        (["--num_workers", "3"], "unknown flag '--num_workers'", "did you mean --num_worker?"),
        (["--comand=x"], "unknown flag '--comand'", "did you mean --command?"),
        (["--dryrun"], "unknown flag '--dryrun'", "did you mean --dry-run?"),
        (["--xyzzy"], "unknown flag '--xyzzy'", "see --help"),
        (["--=3"], "unknown flag '--'", "see --help"),
        (["--image"], "--image needs a value", "write --image IMAGE"),
        (["--image", "--strict"], "--image needs a value", "write --image IMAGE"),
        (["--image", "--num-worker=3"], "--image needs a value", "write --image IMAGE"),
    ],
)
def test_split_says_which_flag_is_wrong(argv: list[str], message: str, hint: str) -> None:
    """An unknown flag gets the nearest name; a missing value is told from an empty one."""
    error = usage_error(argv)
    assert (message, hint) == (error.message, error.hint)


@pytest.mark.parametrize(
    ("argv", "env", "message"),
    [
        (
            ["--num-worker", "three"],
            {},
            "--num-worker='three' is not valid; write a whole number",
        ),
        (
            [],
            {"DLF_NUM_WORKER": "0"},
            "DLF_NUM_WORKER='0' is not valid; write a whole number",
        ),
        (
            [],
            {"KFJ_TASK_RESOURCE_RDMA": "x\ny"},
            "KFJ_TASK_RESOURCE_RDMA='x\\ny' is not valid; write a whole number of devices",
        ),
        (
            ["--env", "A"],
            {},
            "--env='A' is not valid; write NAME=VALUE",
        ),
        (
            [],
            {"DLF_ENV": "A=1\nB"},
            "DLF_ENV='B' is not valid; write NAME=VALUE",
        ),
        (["--strict=maybe"], {}, "--strict='maybe' is not valid; write true or false"),
        (["--dry-run=no"], {}, "--dry-run='no' is not valid; write one of client, server"),
        (
            ["--command=\udcff"],
            {},
            "--command='\\udcff' is not valid; write text without NUL",
        ),
        (
            ["--num_worker=2", "--num_worker=x"],
            {},
            "--num_worker='x' is not valid",
        ),
    ],
)
def test_load_names_source_and_value(argv: list[str], env: dict[str, str], message: str) -> None:
    """One line: the flag or variable as written, its value, and what to write instead."""
    assert usage_error(argv, env).message.startswith(message)


def test_variable_without_flag_has_no_flag() -> None:
    """The platform's ids cannot be said on the command line, by design."""
    assert "unknown flag '--run_id'" == usage_error(["--run_id", "1"]).message
