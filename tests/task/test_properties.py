"""Whatever is written, a parser gives a value that Kubernetes can take, or says what to write."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from manifest import rules

from dlf.errors import UsageError
from dlf.task import mounts, placement, resources, scalars
from dlf.task.flag import Setting, Tolerated, settings_of
from dlf.task.load import load, split
from dlf.task.settings import Connection, Lifecycle, Logs, Run, Workers

GROUPS = (Workers, Run, Connection, Lifecycle, Logs)
SETTINGS = [setting for cls in GROUPS for setting in settings_of(cls)]

# Any text at all, half of it made of the characters that mean something somewhere.
ANY = st.text(st.characters(codec=None)) | st.text(
    "aZ09.-_/:=,;~()（）\n\t {}[]\"'GiMm$\\\0\udcff", max_size=24
)


def parsed(parse: Any, text: str) -> Any:
    """The value, or None when the parser refuses the text in one line."""
    try:
        value = parse(text)
    except ValueError as error:
        value = Tolerated(None, str(error))
    if not isinstance(value, Tolerated):
        return value
    assert "write " in value.warning or "did you mean " in value.warning
    assert "\n" not in value.warning
    return value.value


def usage_error(argv: list[str], env: dict[str, str]) -> str:
    """What the user is told about a command line, "" when all is well."""
    try:
        arguments = split(argv, *GROUPS)
        for cls in GROUPS:
            load(cls, arguments, env)
    except UsageError as error:
        return f"{error.message} {error.hint}"
    return ""


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])
@given(text=ANY)
@example(text="")
@example(text="9" * 5000)
def test_parser_raises_nothing_but_value_error(setting: Setting, text: str) -> None:
    """No input is a crash, and what is accepted survives being sent as JSON."""
    value = parsed(setting.flag.parse, text)
    if isinstance(value, str):
        assert rules.is_text(value)


@given(argv=st.lists(ANY | st.sampled_from([s.option for s in SETTINGS if s.option])))
def test_command_line_raises_nothing_but_usage_error(argv: list[str]) -> None:
    """Whatever the words, they are understood or refused in one line."""
    assert "\n" not in usage_error(argv, {})


@given(
    env=st.dictionaries(
        st.sampled_from([variable for s in SETTINGS for variable in s.variables]), ANY
    )
)
def test_environment_raises_nothing_but_usage_error(env: dict[str, str]) -> None:
    """The error names the variable that it is about."""
    error = usage_error([], env)
    assert "\n" not in error
    assert not error or error.partition("=")[0] in env


@given(text=st.lists(ANY | st.sampled_from(["a=b", "x.io/a=1", "c"]), max_size=4).map(",".join))
def test_node_selector_is_made_of_labels(text: str) -> None:
    """Every key and value can be a label of a node, and no key is without values."""
    for key, values in (parsed(placement.node_selector, text) or {}).items():
        assert rules.is_label_key(key)
        assert values
        assert all(rules.is_label_value(value) for value in values)


@given(text=st.from_regex(r"[0-9.]{0,4}([numkKMGTPE]i?|e[0-9])?(~[0-9.]{0,4}Gi?)?", fullmatch=True))
def test_amount_is_made_of_quantities(text: str) -> None:
    """What is passed on is a quantity to the API server."""
    amount = parsed(resources.amount, text)
    if amount:
        assert rules.is_quantity(amount.request)
        assert rules.is_quantity(amount.limit)


@given(
    text=st.builds(
        "{}({}{}".format,
        st.sampled_from(["1", "0", "-1", "2.0", "0.5", " 8"]),
        st.text("aB0.-_ ,卡", max_size=8),
        st.sampled_from([")", ""]),
    )
)
def test_gpu_model_is_a_label_value(text: str) -> None:
    """The model is looked for on nodes, in upper case."""
    gpu = parsed(resources.gpu, text)
    if gpu:
        assert rules.is_label_value(gpu.model)
        assert gpu.model == gpu.model.upper()
        assert gpu.count >= -1


@given(
    entries=st.dictionaries(
        ANY | st.sampled_from(["cpu", "a.io/b"]),
        ANY | st.integers() | st.floats() | st.booleans() | st.just("1Gi"),
        max_size=3,
    )
)
def test_extra_resources_are_resources_and_quantities(entries: dict[str, Any]) -> None:
    """Whatever the JSON, what is accepted can stand in a container."""
    for name, quantity in (parsed(resources.extra_resources, json.dumps(entries)) or {}).items():
        assert rules.is_resource(name)
        assert rules.is_quantity(quantity)


@given(
    text=st.lists(
        st.builds(
            "{}({}):{}".format,
            ANY | st.sampled_from(["data", "/data", "10.0.0.1/a", "4Gi"]),
            st.sampled_from(
                ["pvc", "pvc-share", "storage", "nfs", "hostpath", "configmap", "secret", "memory"]
            ),
            ANY | st.sampled_from(["/a", "/b/"]),
        ),
        max_size=4,
    ).map(",".join)
)
def test_mounts_have_valid_paths_and_names(text: str) -> None:
    """Mount paths are absolute and differ; claims, ConfigMaps and Secrets can exist."""
    found = parsed(mounts.mounts, text) or ()
    assert len({mount.path for mount in found}) == len(found)
    for mount in found:
        assert rules.is_mount_path(mount.path)
        assert rules.is_text(mount.path + mount.source)
        match mount.kind:
            case "pvc" | "pvc-share" | "configmap" | "secret":
                assert rules.is_rfc1123_subdomain(mount.source)
            case "memory":
                assert rules.is_quantity(mount.source)
            case "hostpath":
                assert mount.source.startswith("/")
                assert ".." not in mount.source.split("/")
            case _:
                assert "/" in mount.source


@given(text=ANY | st.builds("{}={}".format, st.text("aZ_.-0", min_size=1), ANY))
def test_assignment_has_a_name_that_a_container_can_have(text: str) -> None:
    """The value may be anything that is text."""
    assignment = parsed(scalars.assignment, text)
    if assignment:
        assert rules.is_env_name(assignment[0])
        assert rules.is_text(assignment[1])
