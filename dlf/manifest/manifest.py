"""A whole resource as it is submitted, and its two printed forms."""

import re
import sys

import msgspec
import yaml

from dlf.manifest.kinds import JOB_KINDS, Kind
from dlf.manifest.kubeflow import KubeflowSpec
from dlf.manifest.meta import ObjectMeta, Written
from dlf.manifest.volcano import VolcanoJobSpec


class Manifest(Written):
    """The custom resource of one training job."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: KubeflowSpec | VolcanoJobSpec

    @property
    def resource(self) -> Kind:
        """Where the API serves this resource."""
        return next(
            k for k in JOB_KINDS if (k.api_version, k.name) == (self.api_version, self.kind)
        )


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
    return yaml.dump(
        msgspec.to_builtins(manifest),
        Dumper=_Dumper,
        allow_unicode=True,
        sort_keys=False,
        width=sys.maxsize,
    )


class _Dumper(yaml.SafeDumper):
    """YAML for people and for kubectl: commands as blocks, quotes around what looks a number."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _RARE_BREAK.search(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


_RARE_BREAK = re.compile("[\x85\u2028\u2029]")  # read back as plain ends of lines if not escaped
# PyYAML writes `08` and `12e4` without quotes, since YAML 1.1 has them as strings; kubectl reads
# numbers, and a label must not be one.
_NUMBER = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0[box][0-9a-fA-F]+)\Z"
)
_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))
