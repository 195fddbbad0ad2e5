"""Parts of rendered manifests, for tests that look at one rule."""

from collections.abc import Mapping, Sequence
from typing import Any

from frameworks.cases import DEFAULT, as_json, pod_templates, render

from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.tfjob import TFJOB


def manifest(
    name: str, kind: JobKind, argv: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return as_json(render(name, kind, argv, DEFAULT | dict(env or {})))


def pod(argv: Sequence[str] = (), env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The pod spec of a TFJob's workers: the plainest there is."""
    (spec,) = [t["spec"] for _, _, t in pod_templates(manifest("tf", TFJOB, argv, env))]
    built: dict[str, Any] = spec
    return built


def container(argv: Sequence[str] = (), env: Mapping[str, str] | None = None) -> dict[str, Any]:
    built: dict[str, Any] = pod(argv, env)["containers"][0]
    return built


def variables(container: Mapping[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container["env"]}
