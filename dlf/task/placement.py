"""KFJ_TASK_NODE_SELECTOR: on which nodes the pods may run."""

import re

from dlf.task.syntax import is_label_value, is_qualified_name


def node_selector(text: str) -> dict[str, tuple[str, ...]]:
    """Node label to the values that are allowed, in the order written.

    Entries `key=value` are separated by `,` `;` newline or tab. An entry without `=` is one more
    value of the key before it (the platform writes `org=a,b`). Empty entries are dropped.

    Raises:
        ValueError: for a value without a key and for what cannot be a node label.
    """
    allowed: dict[str, list[str]] = {}
    key = ""
    for entry in filter(None, (part.strip() for part in re.split(r"[,;\n\t]", text))):
        left, equals, right = (part.strip() for part in entry.partition("="))
        key, value = (left, right) if equals else (key, left)
        if not key:
            raise ValueError(f"{entry!r} has no key; write key=value, such as train=true")
        if not is_qualified_name(key) or not is_label_value(value):
            raise ValueError(f"{entry!r} is no node label; write key=value, such as train=true")
        values = allowed.setdefault(key, [])
        if value not in values:
            values.append(value)
    return {name: tuple(values) for name, values in allowed.items()}
