"""The printed forms of a manifest, and where the API serves it."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dlf.frameworks import job_kinds, kind_of
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1
from dlf.manifest.jobs.volcano import VOLCANO_JOB, VolcanoJobSpec
from dlf.manifest.kinds import Kind
from dlf.manifest.manifest import Manifest, to_json, to_text
from dlf.manifest.meta import ObjectMeta


def manifest(kind: Kind = VOLCANO_JOB, labels: dict[str, str] | None = None) -> Manifest:
    spec = VolcanoJobSpec(
        min_available=1,
        max_retry=1,
        queue="default",
        scheduler_name="volcano",
        plugins={"env": []},
        policies=[],
        tasks=[],
    )
    return Manifest(
        api_version=kind.api_version,
        kind=kind.name,
        metadata=ObjectMeta(name="job-0a1b", labels=labels or {}),
        spec=spec,
    )


def test_json_is_compact_and_in_the_order_of_the_fields() -> None:
    """Required fields are written whatever they hold; optional ones only when they hold more."""
    assert (
        b'{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"job-0a1b"},'
        b'"spec":{"minAvailable":1,"maxRetry":1,"queue":"default","schedulerName":"volcano",'
        b'"plugins":{"env":[]},"policies":[],"tasks":[]}}'
    ) == to_json(manifest())


def test_text_as_json_is_indented() -> None:
    """The same object, for people, ending in a newline."""
    text = to_text(manifest(), "json")
    assert text.startswith('{\n  "apiVersion": "batch.volcano.sh/v1alpha1",\n')
    assert text.endswith("\n}\n")
    assert json.loads(to_json(manifest())) == json.loads(text)


def test_text_as_yaml_keeps_the_order() -> None:
    """Words that a reader in Go would take for numbers or switches are quoted, others are not."""
    labels = {"a": "08", "b": "12e4", "c": "1_0", "d": "yes", "e": "4Gi", "f": "图", "g": "x\ny"}
    expected = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: job-0a1b
  labels:
    a: '08'
    b: '12e4'
    c: '1_0'
    d: 'yes'
    e: 4Gi
    f: 图
    g: |-
      x
      y
spec:
  minAvailable: 1
  maxRetry: 1
  queue: default
  schedulerName: volcano
  plugins:
    env: []
  policies: []
  tasks: []
"""
    assert expected == to_text(manifest(labels=labels), "yaml")


def test_text_as_yaml_does_not_wrap() -> None:
    """A command stays on its line, so that it can be copied."""
    command = "python3 train.py " + "--flag value " * 40 + "end"
    assert f"    a: {command}\n" in to_text(manifest(labels={"a": command}), "yaml")


@given(value=st.text() | st.text("-+.0123456789eExXob_:~ny#|>'\"\n\t \u0085\u2028", max_size=12))
def test_yaml_and_json_are_the_same_object(value: str) -> None:
    """No text is changed by either form."""
    one = manifest(labels={"a": value})
    assert yaml.safe_load(to_text(one, "yaml")) == json.loads(to_json(one))


@pytest.mark.parametrize("kind", job_kinds(), ids=lambda kind: f"{kind.api_version}/{kind.name}")
def test_manifest_knows_its_resource(kind: Kind) -> None:
    """MPIJob is served in two versions, which are different resources."""
    assert kind == kind_of(manifest(kind))


def test_kind_has_the_words_of_api_and_platform() -> None:
    """The `type` label of the platform is the kind in lower case, but for Volcano."""
    assert ("kubeflow.org/v2beta1", "mpijob") == (
        MPIJOB_V2BETA1.api_version,
        MPIJOB_V2BETA1.type_label,
    )
    assert ("batch.volcano.sh/v1alpha1", "volcanojob") == (
        VOLCANO_JOB.api_version,
        VOLCANO_JOB.type_label,
    )
