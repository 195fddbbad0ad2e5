"""YAML for people and for kubectl: commands as blocks, quotes around what looks like a number."""

import re
import sys
from typing import Any

import yaml

_RARE_BREAK = re.compile("[\x85\u2028\u2029]")  # read back as plain ends of lines if not escaped
# PyYAML writes `08` and `12e4` without quotes, since YAML 1.1 has them as strings; kubectl reads
# numbers, and a label must not be one.
_NUMBER = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0[box][0-9a-fA-F]+)\Z"
)


class _Dumper(yaml.SafeDumper):
    """Its own class, so that its rules are not everybody's."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _RARE_BREAK.search(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def dump(value: Any) -> str:
    """The document of a value of dicts, lists, strings and numbers; keys keep their order."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=sys.maxsize)
