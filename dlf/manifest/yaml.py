"""YAML for people and for kubectl: commands as blocks, quotes around what looks like a number.

PyYAML's dumper is right too, but importing it takes longer than the rest of a dry run. It reads
back in the tests what is written here.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# Needs no quotes: it begins like a word, a path or a variable, or is a number with a unit (none of
# the letters in 1e3, 0x1f, 0b1, 0o7), and neither YAML 1.1, which kubectl reads, nor 1.2 takes it
# for something else than text.
_PLAIN = re.compile(
    r"(?:[^\W\d]|[/$(]|-+[A-Za-z]|[0-9][0-9.]*[ACDF-NP-WYZacdf-np-wyz])"
    r"(?:[^:#]|:(?=\S)|(?<=\S)#)*(?<! )\Z"
)


def dump(value: Any) -> str:
    """The document of a value of dicts, lists, strings and numbers; keys keep their order."""
    return "".join(_node(value, "")).removeprefix("\n").lstrip(" ") + "\n"


def _node(value: Any, indent: str) -> Iterator[str]:
    """What follows a key or a dash, from the blank or the newline on."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield f"\n{indent}{_line(key)}:"
            yield from _node(each, indent if isinstance(each, list) else indent + "  ")
    elif isinstance(value, list) and value:
        for each in value:
            yield f"\n{indent}-"
            text = "".join(_node(each, indent + "  "))
            nested = isinstance(each, (dict, list)) and each
            yield " " + text.lstrip("\n ") if nested else text
    elif isinstance(value, str) and _is_block(value):
        yield from _block(value, indent or "  ")
    else:
        yield " " + _line(value)


def _line(value: Any) -> str:
    """A value that takes one line."""
    if isinstance(value, float):
        # YAML 1.1 takes 1e+16 for text.
        return repr(value) if "." in repr(value) else repr(value).replace("e", ".0e")
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if not value.isprintable():
        text = msgspec.json.encode(value).decode()
        return "".join(each if each.isprintable() else _escape(ord(each)) for each in text)
    if _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    return "'" + value.replace("'", "''") + "'"


def _escape(code: int) -> str:
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"


def _is_block(value: str) -> bool:
    """Whether lines of text can be shown as they are; the first says how far all are indented."""
    return "\n" in value and value[0] not in " \n" and value.replace("\n", "").isprintable()


def _block(value: str, indent: str) -> Iterator[str]:
    text = value.rstrip("\n")
    ends = len(value) - len(text)
    yield " |" + ("-" if not ends else "+" if ends > 1 else "")
    for line in text.split("\n"):
        yield f"\n{indent}{line}" if line else "\n"
    yield "\n" * (ends - 1)
