"""The table of permissions, and what is made of it: docs/how-to/rbac.md and examples/rbac.yaml.

`pytest tests/preflight --update-golden` writes both anew.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dlf.preflight.permissions import JOBS, PERMISSIONS, Need, rules

ROOT = Path(__file__).parents[2]
DOC, EXAMPLE = ROOT / "docs/how-to/rbac.md", ROOT / "examples/rbac.yaml"
BEGIN, END = "<!-- generated: permissions -->\n", "<!-- end of generated -->\n"

HEAD = """\
# What dlf needs to be allowed, by namespace; docs/how-to/rbac.md says what each rule is for.
# Generated from dlf/preflight/permissions.py.
# The namespace `pipeline` and the account `default` are those that the pipeline's pods run as.
"""


def bound(kind: str, name: str, found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A role and its binding to the pipeline's account."""
    api = "rbac.authorization.k8s.io"
    place = {} if kind == "ClusterRole" else {"namespace": "pipeline"}
    yield {
        "apiVersion": f"{api}/v1",
        "kind": kind,
        "metadata": {"name": name, **place},
        "rules": found,
    }
    yield {
        "apiVersion": f"{api}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name, **place},
        "roleRef": {"apiGroup": api, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "pipeline"}],
    }


def manifests() -> str:
    """The text of examples/rbac.yaml."""
    documents = [
        *bound("Role", "dlf", rules("run", "explain", cluster=False)),
        *bound("ClusterRole", "dlf", rules("run", "explain", cluster=True)),
        *bound("Role", "dlf-check", rules("check", cluster=False)),
        *bound("ClusterRole", "dlf-check", rules("check", cluster=True)),
        *bound("Role", "dlf-stacks", rules("stacks", cluster=False)),
    ]
    return HEAD + yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True)


def tables() -> str:
    """The generated part of docs/how-to/rbac.md."""
    titles: dict[Need, str] = {
        "run": "Needed to run a job",
        "explain": "Without these dlf works, but says and cleans up less",
        "check": "Only `dlf check` asks for these",
        "stacks": "Only `dlf stacks` asks for it",
    }
    parts = []
    for need, title in titles.items():
        parts.append(f"\n### {title}\n\n| for | verbs | resource | why |\n|---|---|---|---|\n")
        for each in PERMISSIONS:
            if each.need == need:
                resource = "the job's kind" if each.resource == JOBS else f"`{each.resource}`"
                group = f" ({each.group})" if each.group else ""
                where = ", in the cluster" if each.cluster else ""
                verbs = ", ".join(f"`{verb}`" for verb in each.verbs)
                row = (each.what, verbs, f"{resource}{group}{where}", each.why)
                parts.append(f"| {' | '.join(row)} |\n")
    return "".join(parts) + "\n"


def test_example_is_made_of_the_table(request: pytest.FixtureRequest) -> None:
    """The Role to apply is exactly what dlf uses."""
    if request.config.getoption("--update-golden"):
        EXAMPLE.write_text(manifests())

    assert manifests() == EXAMPLE.read_text()


def test_how_to_is_made_of_the_table(request: pytest.FixtureRequest) -> None:
    """Every permission is documented with its reason."""
    before, begin, rest = DOC.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if request.config.getoption("--update-golden"):
        DOC.write_text(before + BEGIN + tables() + END + after)
        rest = DOC.read_text().partition(BEGIN)[2]

    assert (BEGIN, END) == (begin, end)
    assert tables() == rest.partition(END)[0]


def test_least_role_has_no_more_than_is_needed() -> None:
    """Neither writes to pods nor secrets, and no wildcard, are in what runs a job."""
    found = rules("run", cluster=False)

    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in found] == [
        (
            ["kubeflow.org"],
            ["tfjobs", "pytorchjobs", "paddlejobs", "jaxjobs", "mpijobs", "mxjobs"],
            ["create", "get", "list", "watch", "delete"],
        ),
        (["batch.volcano.sh"], ["jobs"], ["create", "get", "list", "watch", "delete"]),
        ([""], ["pods"], ["list", "watch"]),
        ([""], ["pods/log"], ["get"]),
    ]
