"""What an API server does to an object of a structural schema: prunes, then validates.

Written from https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/
custom-resource-definitions/#specifying-a-structural-schema and #field-pruning. Rules in CEL
(`x-kubernetes-validations`) are not run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_BOUNDS = {"int32": 2**31, "int64": 2**63}


def pruned(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths that the API server would drop without a word."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from pruned(item, schema.get("items", {}), f"{path}[{index}]")
    elif isinstance(value, dict):
        known = schema.get("properties", {})
        for key, item in value.items():
            inner = f"{path}.{key}"
            if key in known:
                yield from pruned(item, known[key], inner)
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from pruned(item, schema["additionalProperties"], inner)
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                yield inner


def invalid(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What the API server would answer 422 for."""
    if not _has_type(value, schema):
        yield f"{path}: {value!r} is no {schema.get('type')}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        yield from _invalid_object(value, schema, path)
    elif isinstance(value, list):
        yield from _outside(len(value), schema, "minItems", "maxItems", path)
        for index, item in enumerate(value):
            yield from invalid(item, schema.get("items", {}), f"{path}[{index}]")
        yield from _repeated_keys(value, schema, path)
    elif isinstance(value, str):
        yield from _outside(len(value), schema, "minLength", "maxLength", path)
        if not re.search(schema.get("pattern", ""), value):
            yield f"{path}: {value!r} is not like {schema['pattern']}"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from _outside(value, schema, "minimum", "maximum", path)
        bound = _BOUNDS.get(schema.get("format", ""), 2**63)
        if not -bound <= value < bound:
            yield f"{path}: {value} is no {schema['format']}"


def _has_type(value: Any, schema: Mapping[str, Any]) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    if value is None:
        return bool(schema.get("nullable"))
    wanted = schema.get("type")
    if isinstance(value, bool):
        return wanted in {None, "boolean"}
    return wanted is None or isinstance(value, _TYPES[wanted])


def _invalid_object(value: dict[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    known, other = schema.get("properties", {}), schema.get("additionalProperties")
    for key, item in value.items():
        inner = known.get(key, other if isinstance(other, dict) else {})
        yield from invalid(item, inner, f"{path}.{key}")


def _repeated_keys(value: Sequence[Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys:
        properties = schema["items"].get("properties", {})
        found = [
            tuple(item.get(key, properties.get(key, {}).get("default")) for key in keys)
            for item in value
        ]
        if len(set(found)) != len(found):
            yield f"{path}: {keys} are not unique"


def _outside(
    number: int, schema: Mapping[str, Any], low: str, high: str, path: str
) -> Iterator[str]:
    if number < schema.get(low, number):
        yield f"{path}: {number} is below {low} {schema[low]}"
    if number > schema.get(high, number):
        yield f"{path}: {number} is above {high} {schema[high]}"
