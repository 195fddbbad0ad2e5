"""The tables of docs/reference."""

from typing import Annotated

import msgspec

from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.reference import flags_markdown, variables_markdown


class First(msgspec.Struct, frozen=True, kw_only=True):
    image: Annotated[str, Flag("image", variable="PLATFORM_IMAGE", metavar="IMAGE")] = ""
    output: Annotated[str, Flag("form", metavar="yaml|json")] = "yaml"
    run_id: Annotated[str, Flag("id of the run", variable="RUN_ID", form="variable")] = "none"


class Second(msgspec.Struct, frozen=True, kw_only=True):
    strict: Annotated[bool, Flag("be strict", scalars.switch, form="switch")] = False


GROUPS: list[tuple[str, type[msgspec.Struct]]] = [("Task", First), ("Run", Second)]


def test_flags_markdown_has_a_table_for_each_group() -> None:
    """A `|` inside a cell is escaped, or it would end the cell."""
    expected = r"""### Task

| Flag | Default | Variables | Meaning |
| --- | --- | --- | --- |
| `--image IMAGE` |  | `DLF_IMAGE`, `PLATFORM_IMAGE` | image |
| `--output yaml\|json` | `yaml` | `DLF_OUTPUT` | form |

### Run

| Flag | Default | Variables | Meaning |
| --- | --- | --- | --- |
| `--strict` |  | `DLF_STRICT` | be strict |
"""
    assert expected == flags_markdown(GROUPS)


def test_variables_markdown_has_the_variables_of_the_platform() -> None:
    """Those that a flag overrides say which flag."""
    expected = """\
| Variable | Flag | Default | Meaning |
| --- | --- | --- | --- |
| `PLATFORM_IMAGE` | `--image` |  | image |
| `RUN_ID` |  | `none` | id of the run |
"""
    assert expected == variables_markdown(GROUPS)
