"""The tables of docs/reference as Markdown, from the declarations of the settings alone."""

from collections.abc import Iterable, Sequence

import msgspec

from dlf.task.flag import Setting, settings_of
from dlf.task.help import signature, written


def flags_markdown(groups: Sequence[tuple[str, type[msgspec.Struct]]]) -> str:
    """One heading and table for each group; the variables stand in the order of their strength."""
    return "\n".join(
        f"### {title}\n\n{_table(('Flag', 'Default', 'Variables', 'Meaning'), _flag_rows(cls))}"
        for title, cls in groups
    )


def variables_markdown(groups: Sequence[tuple[str, type[msgspec.Struct]]]) -> str:
    """One table of the platform's variables: those with a flag name it, the others have none.

    `DLF_*` variables are named after their flags and stand in `flags_markdown`.
    """
    rows = [
        (_code(s.flag.variable), _code(s.option), _code(written(s.default)), s.flag.help)
        for _, cls in groups
        for s in settings_of(cls)
        if s.flag.variable
    ]
    return _table(("Variable", "Flag", "Default", "Meaning"), rows)


def _flag_rows(cls: type[msgspec.Struct]) -> list[tuple[str, ...]]:
    return [
        (_code(signature(s)), _code(written(s.default)), _variables(s), s.flag.help)
        for s in settings_of(cls)
        if s.option
    ]


def _variables(setting: Setting) -> str:
    return ", ".join(map(_code, setting.variables))


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
