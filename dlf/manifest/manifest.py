"""A whole resource as it is submitted, and its two printed forms."""

import msgspec

from dlf.manifest.jobs.kubeflow import KubeflowJobSpec
from dlf.manifest.jobs.volcano import VolcanoJobSpec
from dlf.manifest.meta import ObjectMeta, Written


class Manifest(Written):
    """The custom resource of one training job."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: KubeflowJobSpec | VolcanoJobSpec


def to_json(manifest: Written) -> bytes:
    """The JSON body of a request: compact, in the order of the fields, the same bytes each time."""
    return msgspec.json.encode(manifest)


def to_text(manifest: Written, output: str) -> str:
    """The manifest for people and for kubectl, ending in a newline.

    Args:
        manifest: what to print.
        output: `yaml` or `json`.
    """
    if output == "json":
        return msgspec.json.format(to_json(manifest), indent=2).decode() + "\n"
    from dlf.manifest.yaml import dump  # most runs print none, and its expressions take time

    return dump(msgspec.json.decode(to_json(manifest)))
