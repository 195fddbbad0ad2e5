"""What an operator has the API server know before it runs: its CRDs and its webhooks.

Both are read from the operator's own Go module when the cluster starts.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import yaml

from .sandbox import OPERATOR_ADDRESS

NAMESPACE = "kubeflow"
"""Where the operators keep their leases, certificates and the Service of their webhooks."""
WEBHOOK_PORT = 9443

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


def create_crds(api: httpx.Client, files: Iterable[Path]) -> None:
    """Create CRDs; quick, the API server serves them a moment later."""
    for file in sorted(files):
        create(api, _DEFINITIONS, _undescribed(yaml.load(file.read_bytes(), yaml.CSafeLoader)))


def are_served(api: httpx.Client) -> bool:
    """Tell whether the API server serves every CRD that was created."""
    definitions = api.get(_DEFINITIONS).raise_for_status().json()["items"]
    return all(_is_established(each.get("status", {})) for each in definitions)


def create_webhooks(api: httpx.Client, configurations: Iterable[Any], service: str) -> None:
    """Create webhook configurations, and the Service in `NAMESPACE` that they are called through.

    The operator listens on `WEBHOOK_PORT`, and writes its certificate authority into them itself.
    """
    port = {"clusterIP": OPERATOR_ADDRESS, "ports": [{"port": WEBHOOK_PORT}]}
    manifest = {"metadata": {"name": service}, "spec": port}
    create(api, f"/api/v1/namespaces/{NAMESPACE}/services", manifest)
    here = {"namespace": NAMESPACE, "name": service, "port": WEBHOOK_PORT}
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["service"] |= here
        group = "/apis/admissionregistration.k8s.io/v1"
        create(api, f"{group}/{_PLURALS[configuration['kind']]}", configuration)


def create(api: httpx.Client, path: str, manifest: object) -> None:
    """Create an object of the collection ``path``."""
    api.post(path, json=manifest).raise_for_status()


def _is_established(status: Any) -> bool:
    conditions = status.get("conditions") or []  # null at first
    return ("Established", "True") in [(each["type"], each["status"]) for each in conditions]


def _undescribed(schema: Any) -> Any:
    """Return a CRD without its prose: most of its bytes, and seconds of the API server's time.

    A property that is called `description` stays: its value is a schema, not a text.
    """
    match schema:
        case dict():
            return {
                key: _undescribed(value)
                for key, value in schema.items()
                if not (key == "description" and isinstance(value, str))
            }
        case list():
            return [_undescribed(each) for each in schema]
        case _:
            return schema
