"""A second opinion: the models of the official Kubernetes client take every pod template whole."""

import json

import pytest
from frameworks.cases import CASES, RENDERINGS, golden_manifests, pod_templates, rendering_id
from kubernetes.client import ApiClient, V1PodTemplateSpec

from dlf.manifest.jobs.kind import JobKind


@pytest.mark.parametrize(("name", "kind"), RENDERINGS, ids=rendering_id)
def test_pod_template_survives_the_official_client(name: str, kind: JobKind) -> None:
    """Read as V1PodTemplateSpec and written back, nothing is missing and nothing is renamed."""
    with ApiClient() as client:
        for case, manifest in golden_manifests(name, kind).items():
            templates = list(pod_templates(manifest))
            assert templates, case
            for role, _, template in templates:
                read = client.deserialize(
                    json.dumps(template), "V1PodTemplateSpec", "application/json"
                )
                assert isinstance(read, V1PodTemplateSpec)
                assert template == client.sanitize_for_serialization(read), (case, role)


def test_official_client_would_show_a_loss() -> None:
    """The comparison above can fail: a misspelt field does not come back."""
    template = {"metadata": {}, "spec": {"containers": [{"name": "a", "workingdir": "/"}]}}
    with ApiClient() as client:
        read = client.deserialize(json.dumps(template), "V1PodTemplateSpec", "application/json")
        assert template != client.sanitize_for_serialization(read)


def test_every_case_has_been_compared() -> None:
    """The golden files have a document for each case."""
    assert [len(CASES)] * len(RENDERINGS) == [
        len(golden_manifests(name, kind)) for name, kind in RENDERINGS
    ]
