"""The walker of structural schemas finds what an API server would drop or refuse."""

from typing import Any

import pytest
from frameworks.structural import invalid, pruned

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["replicas"],
    "properties": {
        "replicas": {"type": "integer", "format": "int32", "minimum": 1},
        "limits": {
            "type": "object",
            "additionalProperties": {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+m?$"},
        },
        "events": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "enum": ["PodFailed"], "maxLength": 20},
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                },
            },
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "bare": {"type": "object"},
        "gone": {"type": "string", "nullable": True},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"replicas": 1, "limits": {"cpu": "1", "memory": 2}}, []),
        ({"backoffLimit": 1}, [".backoffLimit"]),
        ({"free": {"a": {"b": 1}}}, []),
        ({"bare": {"a": 1}}, [".bare.a"]),
        ({"ports": [{"port": 1}, {"nodePort": 2}]}, [".ports[1].nodePort"]),
    ],
)
def test_pruned_names_what_the_schema_does_not_know(value: Any, expected: list[str]) -> None:
    """Unknown fields go, at any depth, unless the schema preserves them."""
    assert expected == list(pruned(value, SCHEMA))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"replicas": 1, "gone": None, "free": {"a": True}}, []),
        ({}, [".replicas is missing"]),
        ({"replicas": "1"}, [".replicas: '1' is no integer"]),
        ({"replicas": True}, [".replicas: True is no integer"]),
        ({"replicas": None}, [".replicas: None is no integer"]),
        ({"replicas": 0}, [".replicas: 0 is below minimum 1"]),
        ({"replicas": 2**31}, [".replicas: 2147483648 is no int32"]),
        ({"replicas": 1, "events": []}, [".events: 0 is below minItems 1"]),
        ({"replicas": 1, "events": ["x"]}, [".events[0]: 'x' is none of ['PodFailed']"]),
        ({"replicas": 1, "limits": {"cpu": "x"}}, [".limits.cpu: 'x' is not like ^[0-9]+m?$"]),
        ({"replicas": 1, "limits": {"cpu": 1.5}}, [".limits.cpu: 1.5 is no None"]),
        (
            {"replicas": 1, "ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            [".ports: ['port', 'protocol'] are not unique"],
        ),
        ([], [": [] is no object"]),
    ],
)
def test_invalid_names_what_the_schema_forbids(value: Any, expected: list[str]) -> None:
    """Types, required fields, enumerations, patterns, bounds and map keys."""
    assert expected == list(invalid(value, SCHEMA))
