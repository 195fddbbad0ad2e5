"""`$(NAME)` in commands and variables, as kubelet expands it."""

import re
from collections.abc import Iterable, Mapping

from dlf.manifest.pods import EnvVar

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with `$(NAME)` replaced by the variable and `$$` by `$`.

    A name that is not there is left as it is written, which is what keeps the command
    substitutions of a shell.
    """

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        return "$" if name is None else variables.get(name, reference[0])

    return _REFERENCE.sub(value, text)


def expand_all(declared: Iterable[EnvVar]) -> dict[str, str]:
    """The variables of a container; each may refer to those before it."""
    variables: dict[str, str] = {}
    for each in declared:
        variables[each.name] = expand(each.value or "", variables)
    return variables
