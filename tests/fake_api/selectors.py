"""Label and field selectors, as the API server reads them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")


def matcher(labels: str, fields: str) -> Callable[[Object], bool]:
    """Whether an object is meant by a labelSelector and a fieldSelector."""
    wanted = [_label(term.strip()) for term in _terms(labels)]
    places = [_field(term.strip()) for term in _terms(fields)]

    def matches(obj: Object) -> bool:
        own = obj["metadata"].get("labels") or {}
        return all(test(own) for test in wanted) and all(test(obj) for test in places)

    return matches


def _terms(selector: str) -> list[str]:
    return [term for term in re.split(r",(?![^(]*\))", selector) if term]


def _label(term: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET.match(term):
        key, word, values = found.groups()
        choice = {value.strip() for value in values.split(",")}
        return lambda own: (own.get(key) in choice) is (word == "in")
    if "!=" in term:
        key, value = term.split("!=")
        return lambda own: own.get(key) != value
    if "=" in term:
        key, value = re.split("==?", term)
        return lambda own: own.get(key) == value
    if term.startswith("!"):
        return lambda own: term[1:] not in own
    return lambda own: term in own


def _field(term: str) -> Callable[[Object], bool]:
    equal = "!=" not in term
    path, value = re.split("!=|==?", term)

    def test(obj: Object) -> bool:
        found: Any = obj
        for step in path.split("."):
            found = (found or {}).get(step)
        return (str(found or "") == value) is equal

    return test
