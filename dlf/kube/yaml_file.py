"""Reads a YAML file, whatever is in it."""

from pathlib import Path

import yaml

from dlf.errors import UsageError

_MAX_BYTES = 16 << 20  # a kubeconfig or a resource is far smaller; /dev/zero is not


def read_yaml(path: Path, source: str) -> object:
    """The file's document.

    Args:
        path: of the file.
        source: how a message names it.

    Raises:
        UsageError: it cannot be read, or is no YAML.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{source} cannot be read: {reason}") from error
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{source} is larger than {_MAX_BYTES >> 20} MiB")
    try:
        return yaml.safe_load(content)
    except RecursionError as error:
        raise UsageError(f"{source} is nested too deeply") from error
    # The last three: PyYAML's own about `!!bool x`, `!!int ""`, `!!timestamp x`.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        words = " ".join(str(error).split())
        raise UsageError(f"{source} is not valid YAML: {words}") from error
