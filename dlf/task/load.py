"""From (argv, environment) to settings: flag, then `DLF_*`, the platform's variable, the default.

The command line is read here, not by argparse, because the platform's contract differs from it:
`_` and `-` are the same in a flag, an empty value counts as not given, a value may begin with `-`,
and every message is one line that names its source.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from dlf.errors import UsageError
from dlf.task.flag import Setting, Tolerated, settings_of
from dlf.task.suggest import flag_hint

_SHOWN_CHARACTERS = 300  # of a value in a message
S = TypeVar("S", bound=msgspec.Struct)


class Arguments(msgspec.Struct, frozen=True):
    """A command line, split but not yet understood.

    Attributes:
        flags: setting name to the flag as written and its texts, in the order given.
        positional: the words that belong to no flag.
        warnings: filled by `load`: lines about values that are wrong but accepted.
    """

    flags: dict[str, list[tuple[str, str]]]
    positional: list[str]
    warnings: list[str]


def split(argv: Sequence[str], *groups: type[msgspec.Struct]) -> Arguments:
    """Split a command line by the flags of the groups.

    Raises:
        UsageError: for a flag that no group has, and for one that lacks its value.
    """
    known = {s.key: s for group in groups for s in settings_of(group) if s.option}
    short = {s.flag.short: s for s in known.values() if s.flag.short}
    arguments = Arguments({}, [], [])
    words = iter(argv)
    for word in words:
        if word == "--":
            arguments.positional.extend(words)
            break
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            setting = known.get(flag[2:].replace("-", "_"))
        elif word.startswith("-") and word != "-":
            flag, value = word[:2], word[2:].removeprefix("=")
            equals = word[2:]
            setting = short.get(flag)
            if setting and setting.flag.form == "switch" and value:
                raise UsageError(f"{word!r} is more than one flag", f"write {flag} by itself")
        else:
            arguments.positional.append(word)
            continue
        if setting is None:
            raise UsageError(f"unknown flag {flag!r}", flag_hint(flag, known))
        if not equals:
            value = _value(setting, flag, words, known)
        arguments.flags.setdefault(setting.name, []).append((flag, value))
    return arguments


def load(cls: type[S], arguments: Arguments, env: Mapping[str, str]) -> S:
    """The settings of one group.

    Raises:
        UsageError: one line with source, value and what to write instead.
    """
    values = {}
    for setting in settings_of(cls):
        given = _from_flags(setting, arguments) or _from_environment(setting, env)
        parsed = [_parse(setting, source, text, arguments.warnings) for source, text in given]
        if parsed:
            values[setting.name] = tuple(parsed) if setting.flag.form == "repeat" else parsed[-1]
    return cls(**values)


def _value(setting: Setting, flag: str, words: Iterator[str], known: Mapping[str, Setting]) -> str:
    if setting.flag.form == "switch":
        return "true"
    if setting.flag.form == "optional":
        return setting.flag.metavar.partition("|")[0]
    value = next(words, None)
    if value is None or (
        value.startswith("--") and value[2:].partition("=")[0].replace("-", "_") in known
    ):
        raise UsageError(f"{flag} needs a value", f"write {flag} {setting.flag.metavar}")
    return value


def _from_flags(setting: Setting, arguments: Arguments) -> list[tuple[str, str]]:
    given = arguments.flags.get(setting.name, [])
    texts = [(flag, text if setting.flag.verbatim else text.strip()) for flag, text in given]
    texts = [(flag, text) for flag, text in texts if text]
    if setting.flag.join and len(texts) > 1:
        return [(texts[-1][0], setting.flag.join.join(text for _, text in texts))]
    return texts


def _from_environment(setting: Setting, env: Mapping[str, str]) -> list[tuple[str, str]]:
    for variable in setting.variables:
        text = env.get(variable, "").strip()
        if text:
            several = setting.flag.form == "repeat"
            return [(variable, part) for part in (text.splitlines() if several else [text])]
    return []


def _parse(setting: Setting, source: str, text: str, warnings: list[str]) -> Any:
    try:
        value = setting.flag.parse(text)
    except ValueError as error:
        raise UsageError(_sentence(source, text, str(error))) from None
    if isinstance(value, Tolerated):
        warnings.append(_sentence(source, text, value.warning))
        return value.value
    return value


def _sentence(source: str, text: str, problem: str) -> str:
    """`SOURCE='TEXT' PROBLEM`, see `Flag.parse`."""
    if problem.startswith("write "):
        problem = f"is not valid; {problem}"
    return f"{source}={_cut(repr(text))} {_cut(problem)}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
