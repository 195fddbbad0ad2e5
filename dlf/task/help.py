"""`--help` for a terminal, from the declarations of the settings alone."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from dlf.task.flag import Setting, settings_of
from dlf.task.resources import Gpu
from dlf.task.scalars import format_duration

_INDENT = "  "
_COLUMN = 26  # where the texts begin; a longer name has a line of its own
_TWO_COLUMNS_FROM = 60  # columns of the terminal; in a narrower one every name has its own line
_NARROW_COLUMN = 6
_GLUE = "\N{NO-BREAK SPACE}"  # textwrap breaks at other blanks only
_NOTE = (
    "In a flag, `-` and `_` are the same. DLF_<FLAG>, such as DLF_NUM_WORKER, sets a flag that is"
    " not given, and wins over the variable named beside the flag. An empty value counts as not"
    " given."
)


def flags_text(groups: Sequence[tuple[str, type[msgspec.Struct]]], width: int) -> str:
    """The flags of each group under its title, then the variables that have no flag.

    Args:
        groups: titles and structs of settings.
        width: columns of the terminal, 40 or more; a line is longer only for one long word.

    Returns:
        Lines, each ending in a newline.
    """
    settings = [(title, settings_of(cls)) for title, cls in groups]
    sections = [
        (title, [(signature(s), meaning(s)) for s in group if s.option])
        for title, group in settings
    ]
    variables = [s for _, group in settings for s in group if not s.option]
    rows = [(variable, meaning(s)) for s in variables for variable in s.variables]
    sections.append(("Environment", rows))
    tables = [f"{title}:\n{table(rows, width)}" for title, rows in sections if rows]
    return "\n\n".join([*tables, "\n".join(wrapped(_NOTE, width))]) + "\n"


def signature(setting: Setting) -> str:
    """A flag with what follows it: `--num_worker N`, `--strict`, `--dry-run[=client|server]`."""
    names = f"{setting.flag.short}, {setting.option}" if setting.flag.short else setting.option
    match setting.flag.form:
        case "switch":
            return names
        case "optional":
            return f"{names}[={setting.flag.metavar}]"
        case _:
            return f"{names} {setting.flag.metavar}"


def written(value: Any) -> str:
    """A default as a user would write it; "" for a default that is no value at all."""
    match value:
        case None | bool():
            return ""
        case float():
            return format_duration(value) if value else ""
        case Gpu():
            return str(value.count)
        case Mapping():
            return ",".join(f"{key}={','.join(values)}" for key, values in value.items())
        case tuple():
            return ",".join(
                "=".join(map(str, entry)) if isinstance(entry, tuple) else str(entry)
                for entry in value
            )
        case _:
            return str(value)


def meaning(setting: Setting) -> str:
    """What a setting does, its default, and the platform's variable that sets the flag, too."""
    default = written(setting.default)
    notes = [f"default:{_GLUE}{default}"] if default else []
    notes += [f"variable:{_GLUE}{variable}" for variable in setting.variables[1:]]
    return setting.flag.help + (f" [{'; '.join(notes)}]" if notes else "")


def wrapped(text: str, width: int, indent: str = "", further: str | None = None) -> list[str]:
    """Lines that break at blanks only: a longer word, such as an image, stays whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_on_hyphens=False,
        break_long_words=False,
    )


def table(rows: Iterable[tuple[str, str]], width: int, column: int = _COLUMN) -> str:
    """Names and their meanings, side by side where the terminal is wide enough; no last newline."""
    if width < _TWO_COLUMNS_FROM:
        column = _NARROW_COLUMN
    lines: list[str] = []
    for name, meaning in rows:
        text = wrapped(meaning, width, " " * column)
        head = wrapped(name, width, _INDENT, " " * _NARROW_COLUMN)
        if len(head) == 1 and len(head[0]) + len(_INDENT) <= column:
            head = [f"{head[0]:{column}}{text.pop(0).lstrip()}"]
        lines += [*head, *text]
    return "\n".join(lines).replace(_GLUE, " ")
