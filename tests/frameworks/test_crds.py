"""The real CustomResourceDefinitions of the operators take every golden manifest whole.

The definitions are no part of this project: some 30 MB of the operators' own files, kept in a
`contracts/crds` folder beside the checkout. Without it these tests are skipped, and say so.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from frameworks.cases import RENDERINGS, golden_manifests, rendering_id
from frameworks.structural import invalid, pruned

from dlf.frameworks import job_kinds
from dlf.manifest.jobs.jaxjob import JAXJOB
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1

CRDS = next(iter(Path(__file__).parents[3].glob("*/contracts/crds")), None)

pytestmark = pytest.mark.skipif(
    CRDS is None, reason="no contracts/crds beside the checkout: the operators' CRDs were NOT tried"
)

# What a definition drops although dlf sends it, and why that is accepted.
DROPPED = {
    # mpi-operator 0.3 has no gang scheduling; `--queue` has no meaning there.
    ("mpi-operator-0.3.0", MPIJOB_V2BETA1): {".spec.runPolicy.schedulingPolicy"},
}
# The kinds that an operator's release has no definition of.
ABSENT = {
    ("training-operator-1.5.0", "PaddleJob"),  # came with 1.6
    ("training-operator-1.9.4", "MXJob"),  # removed in 1.9
}
# The folder has no JAXJob; the sources of the operators that the test cluster builds have it.
MODULES = Path.home() / "go/pkg/mod/github.com/kubeflow"
JAXJOBS = sorted(MODULES.glob("training-operator@*/manifests/base/crds/kubeflow.org_jaxjobs.yaml"))


def definitions(kind: JobKind) -> Iterator[Path]:
    """The files that may define a kind: one a release of its operator."""
    if kind == JAXJOB:
        yield from JAXJOBS
        return
    operators = {"batch.volcano.sh": "volcano-*"}.get(
        kind.group, "mpi-operator-*" if kind == MPIJOB_V2BETA1 else "training-operator-*"
    )
    for release in sorted(CRDS.glob(operators)) if CRDS else ():
        if (release.name, kind.name) not in ABSENT:
            yield release / f"{kind.name}.yaml"


@functools.cache
def schema_of(file: Path, version: str) -> dict[str, Any]:
    definition = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    served = {each["name"]: each for each in definition["spec"]["versions"] if each["served"]}
    schema: dict[str, Any] = served[version]["schema"]["openAPIV3Schema"]
    # Every object has these, whatever its definition says.
    text = {"type": "string"}
    metadata = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    known = {"apiVersion": text, "kind": text, "metadata": metadata}
    return schema | {"properties": schema["properties"] | known}


PAIRS = [(name, kind, file) for name, kind in RENDERINGS for file in definitions(kind)]


@pytest.mark.parametrize(
    ("name", "kind", "file"),
    PAIRS,
    ids=lambda value: value.parent.name if isinstance(value, Path) else rendering_id(value),
)
def test_golden_manifest_is_accepted_whole(name: str, kind: JobKind, file: Path) -> None:
    """Nothing is refused, and nothing is dropped in silence."""
    schema = schema_of(file, kind.version)
    tolerated = DROPPED.get((file.parent.name, kind), set())
    for case, manifest in golden_manifests(name, kind).items():
        assert [] == list(invalid(manifest, schema)), case
        assert [] == [path for path in pruned(manifest, schema) if path not in tolerated], case


def test_every_release_is_tried() -> None:
    """The folder has all the files that the pairs name, and every kind has some."""
    tried = {kind for _, kind, _ in PAIRS}
    assert set(job_kinds()) - ({JAXJOB} if not JAXJOBS else set()) == tried
    assert [] == [file for _, _, file in PAIRS if not file.exists()]


def test_exceptions_are_still_needed() -> None:
    """A tolerated path is really dropped from some golden manifest."""
    for (release, kind), paths in DROPPED.items():
        found = {
            path
            for name, each, file in PAIRS
            if (file.parent.name, each) == (release, kind)
            for manifest in golden_manifests(name, each).values()
            for path in pruned(manifest, schema_of(file, kind.version))
        }
        assert paths == found
