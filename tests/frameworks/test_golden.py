"""The manifests of every framework, byte for byte. `--update-golden` rewrites the files."""

import json

import pytest
from frameworks.cases import (
    CASES,
    GOLDEN,
    RENDERINGS,
    golden_file,
    golden_manifests,
    render_case,
    rendering_id,
)

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import to_json, to_text


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_manifest_is_the_golden_one(
    name: str, kind: JobKind, request: pytest.FixtureRequest
) -> None:
    """The same input and the same suffix give the same bytes; a change is seen in review."""
    documents = [f"# {case}\n{to_text(render_case(name, kind, case), 'yaml')}" for case in CASES]
    actual = "---\n".join(documents)
    file = golden_file(name, kind)
    if request.config.getoption("--update-golden"):
        file.write_text(actual)
    assert file.read_text() == actual


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_golden_file_says_what_json_says(name: str, kind: JobKind) -> None:
    """YAML for people and the JSON of the request are the same object."""
    for case, golden in golden_manifests(name, kind).items():
        assert golden == json.loads(to_json(render_case(name, kind, case)))


def test_golden_files_are_those_of_the_frameworks() -> None:
    """No file is left over from a framework or kind that is gone."""
    expected = sorted(golden_file(name, kind).name for name, kind in RENDERINGS)
    assert expected == sorted(file.name for file in GOLDEN.iterdir())


def test_golden_files_differ_by_framework() -> None:
    """Each rendering has a kind and a name of its own."""
    found = {
        (document["apiVersion"], document["kind"], document["metadata"]["name"])
        for name, kind in RENDERINGS
        for document in [golden_manifests(name, kind)["defaults"]]
    }
    assert len(RENDERINGS) == len(found)
