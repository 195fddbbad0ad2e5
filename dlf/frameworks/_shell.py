"""The container's command: the user's command line, run by bash exactly as it was written."""

import re

_DOLLARS = re.compile(r"(\$\([^)]*\))|\$\$(?!\()")


def bash(command: str) -> list[str]:
    """The container command that runs the user's command line."""
    return ["bash", "-c", literal(command)]


def with_prelude(prelude: str, command: str) -> list[str]:
    """Run the user's command, untouched, after shell assignments.

    The command stays one argument and the last shell replaces the first, so that quoting, `$0`
    and signals are those of a plain `bash -c`.
    """
    return ["bash", "-c", f'{prelude}; exec bash -c "$0"', literal(command)]


def literal(text: str) -> str:
    """The text for a command or variable of a container, where kubelet takes `$$` for one `$`.

    `$(...)` is left alone with all that is in it, as kubelet leaves it when no variable has that
    name; so is `$$(NAME)`, where the user writes for kubelet, to keep it from `$(NAME)`.
    """
    return _DOLLARS.sub(lambda found: found[0] if found[1] else "$$$$", text)
