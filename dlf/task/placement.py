"""On which nodes the pods may run: node labels and tolerated taints."""

import re

import msgspec

from dlf.task.flag import Tolerated
from dlf.task.syntax import is_label_value, is_qualified_name

_EFFECTS = {"NoSchedule", "PreferNoSchedule", "NoExecute"}


class ToleratedTaint(msgspec.Struct, frozen=True):
    """A taint that pods tolerate. `value` None is any value, an empty effect any effect."""

    key: str
    value: str | None
    effect: str


def tolerations(text: str) -> tuple[ToleratedTaint, ...]:
    """`KEY[=VALUE][:EFFECT]`, separated by commas, as `kubectl taint` writes taints.

    Raises:
        ValueError: for what cannot be a taint.
    """
    found = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        taint, _, effect = entry.partition(":")
        key, equals, value = taint.partition("=")
        if not is_qualified_name(key) or not is_label_value(value) or effect not in _EFFECTS | {""}:
            raise ValueError(
                f"contains {entry!r}, which is not a taint; write KEY, KEY=VALUE or"
                " KEY=VALUE:EFFECT, the effect one of NoSchedule, PreferNoSchedule, NoExecute"
            )
        found.append(ToleratedTaint(key, value if equals else None, effect))
    return tuple(found)


def node_selector(text: str) -> dict[str, tuple[str, ...]] | Tolerated:
    """Node label to the values that are allowed, in the order written.

    Entries `key=value` are separated by `,` `;` newline or tab. An entry without `=` is one more
    value of the key before it (the platform writes `org=a,b`). Empty entries are dropped.
    Two mistakes have the result that they had with the old launchers, and a warning: of `a=b=c`
    the part after the second `=` is dropped, and so is a first entry without `=`.

    Raises:
        ValueError: for what cannot be a node label.
    """
    allowed: dict[str, list[str]] = {}
    key = ""
    dropped: list[str] = []
    for entry in filter(None, (part.strip() for part in re.split(r"[,;\n\t]", text))):
        left, equals, right = (part.strip() for part in entry.partition("="))
        if not equals and not key:
            dropped.append(entry)
            continue
        if "=" in right:
            right, _, rest = (part.strip() for part in right.partition("="))
            dropped.append(f"={rest}")
        key, value = (left, right) if equals else (key, left)
        if not is_qualified_name(key) or not is_label_value(value):
            raise ValueError(
                f"contains {entry!r}, which is not a node label;"
                " write key=value, such as train=true"
            )
        values = allowed.setdefault(key, [])
        if value not in values:
            values.append(value)
    labels = {name: tuple(values) for name, values in allowed.items()}
    if dropped:
        ignored = ", ".join(map(repr, dropped))
        return Tolerated(
            labels, f"is malformed, ignoring {ignored}; write key=value, such as train=true"
        )
    return labels
