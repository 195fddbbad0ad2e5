r"""`dlf man`: the manual page, in troff's man macros; read it by `dlf man | man -l -`.

It is made of what the help is made of: commands, flags, variables, exit codes.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

import dlf
from dlf.commands.arguments import read
from dlf.commands.invocation import GROUPS
from dlf.edge import Edge
from dlf.errors import ExitCode
from dlf.frameworks import SUMMARIES, load_framework
from dlf.task.flag import settings_of
from dlf.task.help import meaning, signature
from dlf.task.settings import TaskSettings
from dlf.usage import ABOUT, EXIT_CODES, USAGE

_WITHOUT_MODULE = {"ssh", "pdsh"}  # parts of `worker`


def run(argv: Sequence[str], edge: Edge, commands: Mapping[str, str]) -> ExitCode:
    """Print the page; `commands` are the names and summaries of those beside the frameworks."""
    if read(argv, edge, "dlf man", ()) is not None:
        edge.out(page(commands))
    return ExitCode.SUCCEEDED


def page(commands: Mapping[str, str]) -> str:
    """The page in troff."""
    codes = {str(int(code)): words for code, words in EXIT_CODES.items()}
    parts = [
        f'.TH DLF 1 "" "dlf {dlf.__version__}" "User Commands"\n',
        ".SH NAME\n" + _text("dlf - run distributed training jobs on Kubernetes"),
        ".SH SYNOPSIS\n" + "".join(f".B {_escaped(usage)}\n.br\n" for usage in USAGE),
        ".SH DESCRIPTION\n" + _text(ABOUT),
        ".SH FRAMEWORKS\n" + _entries(SUMMARIES.items()),
        ".SH COMMANDS\n" + _entries(commands.items()),
        ".SH FLAGS OF EVERY FRAMEWORK\n",
        *(_flags(title, group) for title, group in (("Training", TaskSettings), *GROUPS)),
    ]
    shared = {setting.option for setting in settings_of(TaskSettings)}
    for name in SUMMARIES:
        own = [s for s in settings_of(load_framework(name).settings) if s.option not in shared]
        if own:
            rows = [(signature(s), meaning(s)) for s in own]
            parts.append(f".SH FLAGS OF {name.upper()}\n{_entries(rows)}")
    for name in commands.keys() - _WITHOUT_MODULE - {"man"}:
        groups = getattr(importlib.import_module(f"dlf.commands.{name}"), "GROUPS", ())
        if groups and name != "check":
            flags = "".join(_flags(title, group) for title, group in groups)
            parts.append(f".SH FLAGS OF {name.upper()}\n{flags}")
    variables = (
        (variable, meaning(setting))
        for setting in settings_of(TaskSettings)
        if not setting.option
        for variable in setting.variables
    )
    parts += [
        ".SH ENVIRONMENT\n" + _entries(variables),
        ".SH EXIT STATUS\n" + _entries(codes.items()),
    ]
    return "".join(parts)


def _flags(title: str, group: type[msgspec.Struct]) -> str:
    rows = ((signature(s), meaning(s)) for s in settings_of(group) if s.option)
    return f".SS {_escaped(title)}\n{_entries(rows)}"


def _entries(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f".TP\n.B {_escaped(name)}\n{_text(words)}" for name, words in rows)


def _text(words: str) -> str:
    return f"{_escaped(words)}\n"


def _escaped(words: str) -> str:
    r"""Plain text: `\` and `-` mean something to troff, and so does `.` or `'` in front."""
    text = words.replace("\\", "\\e").replace("-", "\\-").replace("\N{NO-BREAK SPACE}", "\\ ")
    return f"\\&{text}" if text[:1] in {".", "'"} else text
