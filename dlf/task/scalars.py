"""Parsers of single values. Each raises ValueError as `Flag.parse` describes it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from dlf.task.syntax import is_label, is_subdomain

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DIGITS = 9  # more digits than any count here can need, and few enough for every integer type


def count(minimum: int) -> Callable[[str], int]:
    """A parser of whole numbers of at least `minimum`."""

    def parse(text: str) -> int:
        if not re.fullmatch(rf"[0-9]{{1,{_DIGITS}}}", text) or int(text) < minimum:
            raise ValueError(f"write a whole number, {minimum} or more")
        return int(text)

    return parse


def choice(*allowed: str) -> Callable[[str], str]:
    """A parser that accepts exactly these words."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"write one of {', '.join(allowed)}")
        return text

    return parse


def switch(text: str) -> bool:
    """A yes or no, for a switch that is set by its variable."""
    lowered = text.lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ValueError("write true or false")


def duration(text: str) -> float:
    """A time span in seconds: `90`, `90s`, `10m`, `1h30m`, `2d`.

    Raises:
        ValueError: for any other form, for zero, and for more than 1000 days.
    """
    parts = re.fullmatch(r"(?:([0-9]{1,9})|((?:[0-9]{1,9}[smhd])+))", text)
    if not parts:
        raise ValueError("write a time such as 90s, 10m, 1h30m or 2d")
    spans = re.findall(r"([0-9]+)([smhd]?)", text)
    seconds = sum(int(number) * _UNITS[unit or "s"] for number, unit in spans)
    if not 0 < seconds <= timedelta(days=1000).total_seconds():
        raise ValueError("is out of range; write a time between 1s and 1000d")
    return float(seconds)


def port(text: str) -> int:
    """A TCP port."""
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 1 << 16:
        raise ValueError("write a port, 1 to 65535")
    return int(text)


def format_duration(seconds: float) -> str:
    """A time span as a user would write it: `90s` is `1m30s`, 0 is `0s`."""
    left = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def text(value: str) -> str:
    """Any text that the API server and the operating system can carry."""
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("write text without NUL bytes, in UTF-8")
    return value


def image(value: str) -> str:
    """An image reference: checked only for what no reference can hold."""
    if re.search(r"\s", text(value)):
        raise ValueError("write an image reference without blanks, such as registry/name:tag")
    return value


def dns_label(value: str) -> str:
    """An RFC 1123 label, the form of a namespace's name."""
    if not is_label(value):
        raise ValueError("write lower-case letters, digits and -, at most 63")
    return value


def object_name(value: str) -> str:
    """An RFC 1123 subdomain, the form of most objects' names."""
    if not is_subdomain(value):
        raise ValueError("write lower-case letters, digits, - and .")
    return value


def object_names(value: str) -> tuple[str, ...]:
    """Comma separated object names."""
    return tuple(object_name(entry) for entry in names(value))


def path_segment(value: str) -> str:
    """A user name that is also the last part of a mount path: no `/` or `:`, not `.` or `..`."""
    if re.search("[/:]", text(value)) or value in {".", ".."}:
        raise ValueError("is not allowed; write a name without / and :, other than . and ..")
    return value


def names(text: str) -> tuple[str, ...]:
    """Comma separated names; blanks around them and empty entries are dropped."""
    return tuple(entry for entry in (part.strip() for part in text.split(",")) if entry)


def pattern(value: str) -> re.Pattern[bytes]:
    """A regular expression, for the bytes of log lines."""
    try:
        return re.compile(text(value).encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(
            f"is not a regular expression ({error}); write one such as loss|error"
        ) from None


def instant(value: str) -> str:
    """An RFC 3339 time, such as 2026-01-02T15:04:05Z; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(value)
        zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise ValueError("write a time such as 2026-01-02T15:04:05Z") from None


def assignment(given: str) -> tuple[str, str]:
    """`NAME=VALUE`, the form of `--env`; the name as a container's environment takes it."""
    name, equals, value = text(given).partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
        raise ValueError("write NAME=VALUE, the name of letters, digits and _")
    return name, value


def ranks(text: str) -> tuple[int, ...]:
    """`all` (an empty tuple) or comma separated ranks; negative ones count from the last rank."""
    if text == "all":
        return ()
    entries = names(text)
    if not entries or not all(re.fullmatch(rf"-?[0-9]{{1,{_DIGITS}}}", entry) for entry in entries):
        raise ValueError("write all, or ranks such as 0,-1 (-1 is the last one)")
    return tuple(int(entry) for entry in entries)
