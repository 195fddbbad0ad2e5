"""The forms of names that the API server accepts, as k8s.io/apimachinery's validation has them."""

import re

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def is_label(text: str) -> bool:
    """An RFC 1123 label: the name of a namespace."""
    return len(text) <= 63 and bool(_LABEL.fullmatch(text))


def is_subdomain(text: str) -> bool:
    """An RFC 1123 subdomain: the name of most objects."""
    return len(text) <= 253 and bool(_SUBDOMAIN.fullmatch(text))


def is_label_value(text: str) -> bool:
    """The value of a label; it may be empty."""
    return not text or (len(text) <= 63 and bool(_NAME.fullmatch(text)))


def is_qualified_name(text: str) -> bool:
    """The key of a label or the name of a resource, with or without a `domain/` before it."""
    domain, slash, name = text.rpartition("/")
    return bool(name) and is_label_value(name) and (not slash or is_subdomain(domain))
