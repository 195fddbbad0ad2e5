"""Object metadata and times, and the base of every struct that dlf writes."""

import datetime
from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Written(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    repr_omit_defaults=True,
):
    """A part of a manifest. A field that still has its default is left out of the JSON.

    So a value that the API server must see is never a default: it is a required field.
    """


class OwnerReference(Written):
    """metav1.OwnerReference: deleting the owner deletes the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Written):
    """metav1.ObjectMeta, the part that dlf sets."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []


def parse_time(text: str) -> datetime.datetime | None:
    """A metav1.Time or MicroTime (RFC 3339), or None for what is none."""
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
