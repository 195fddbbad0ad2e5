"""The operators of the jobs that dlf submits, run as plain processes beside the API server.

Their CRDs and webhook configurations are read from the operators' own Go modules at run time.
"""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from . import toolchain
from .image import WORKER_IMAGE
from .sandbox import OPERATOR_ADDRESS, Sandbox
from .toolchain import Program

NAMESPACE = "kubeflow"
"""Where the operators keep their leases and certificates."""
KUBECTL_IMAGE = "dlf.test/kubectl-delivery:1"
"""Image by which an MPIJob's launcher gets its kubectl; a test that needs it imports it."""

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SERVICE = "training-operator"
_SECRET = "training-operator-webhook-cert"
_WEBHOOK_PORT = 9443


@dataclass(frozen=True)
class Operator:
    """One operator: what to build, what to tell the API server, how to start it."""

    program: Program
    source: str
    """Path of its Go module."""
    crds: str
    """Pattern of the CRD files in that module."""
    arguments: tuple[str, ...]
    ready: str
    """URL, inside the sandbox, that answers 200 when it is."""
    webhooks: str | None = None
    """File of its ValidatingWebhookConfiguration in that module."""

    def install(self, api: httpx.Client) -> None:
        """Create its CRDs and what its webhooks need; quick, the API server digests it later."""
        source = toolchain.module_source(self.program.module, self.source)
        for crd in sorted(source.glob(self.crds)):
            definition = yaml.load(crd.read_bytes(), yaml.CSafeLoader)
            _create(api, _DEFINITIONS, _undescribed(definition))
        if self.webhooks is not None:
            _install_webhooks(api, source / self.webhooks)

    def start(self, sandbox: Sandbox, api: httpx.Client, kubeconfig: Path) -> None:
        """Start its process, and hand it its certificates as the kubelet would mount them."""
        mounted = sandbox.directory / "webhook-certificates"
        mounted.mkdir()
        own_mounts = """
            set -e
            mount -t tmpfs tmpfs /tmp
            mkdir -p /tmp/k8s-webhook-server/serving-certs
            mount --bind "$0" /tmp/k8s-webhook-server/serving-certs
            exec "$@"
        """
        sandbox.run(
            self.program.name,
            *("unshare", "--mount", "sh", "-c", own_mounts, mounted),
            self.program.build(),
            *self.arguments,
            KUBECONFIG=str(kubeconfig),
        )
        if self.webhooks is not None:
            _mount_certificates(sandbox, api, mounted)


def _training_operator(program: Program) -> Operator:
    return Operator(
        program,
        "github.com/kubeflow/training-operator",
        "manifests/base/crds/kubeflow.org_*.yaml",
        (
            "--zap-log-level=info",
            f"--webhook-server-port={_WEBHOOK_PORT}",
            f"--pytorch-init-container-image={WORKER_IMAGE}",
            f"--mpi-kubectl-delivery-image={KUBECTL_IMAGE}",
        ),
        "http://127.0.0.1:8081/readyz",
        "manifests/base/webhook/manifests.yaml",
    )


TRAINING_OPERATOR_1_9 = _training_operator(toolchain.TRAINING_OPERATOR_1_9)
TRAINING_OPERATOR_1_8 = _training_operator(toolchain.TRAINING_OPERATOR_1_8)
"""The last release that serves MXJob."""
MPI_OPERATOR = Operator(
    toolchain.MPI_OPERATOR,
    "github.com/kubeflow/mpi-operator",
    "manifests/base/kubeflow.org_*.yaml",
    (f"--lock-namespace={NAMESPACE}", "--kube-api-qps=500", "--kube-api-burst=1000"),
    "http://127.0.0.1:8080/healthz",
)
"""Serves MPIJob v2beta1 under the CRD name that the training operator uses for v1."""


def _install_webhooks(api: httpx.Client, file: Path) -> None:
    """Create the webhook configuration, its Service and the Secret that the operator fills."""
    service = {
        "metadata": {"name": _SERVICE},
        "spec": {"clusterIP": OPERATOR_ADDRESS, "ports": [{"port": _WEBHOOK_PORT}]},
    }
    _create(api, f"/api/v1/namespaces/{NAMESPACE}/services", service)
    _create(api, f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": _SECRET}})
    configuration = yaml.safe_load(file.read_text())
    configuration["metadata"]["name"] = "validator.training-operator.kubeflow.org"
    for webhook in configuration["webhooks"]:
        webhook["clientConfig"]["service"] |= {
            "namespace": NAMESPACE,
            "name": _SERVICE,
            "port": _WEBHOOK_PORT,
        }
    group = "/apis/admissionregistration.k8s.io/v1"
    _create(api, f"{group}/validatingwebhookconfigurations", configuration)


def _mount_certificates(sandbox: Sandbox, api: httpx.Client, mounted: Path) -> None:
    """Copy the certificates that the operator made into its Secret to where it reads them."""
    content: dict[str, str] = {}

    def filled() -> bool:
        secret = api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{_SECRET}").raise_for_status()
        content.update(secret.json().get("data", {}))
        return "tls.crt" in content

    sandbox.wait(filled, "certificates of the training operator")
    for name in sorted(content, key="tls.crt".__eq__):  # last: the operator waits for this one
        (mounted / name).write_bytes(base64.b64decode(content[name]))


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


def _create(api: httpx.Client, path: str, manifest: object) -> None:
    api.post(path, json=manifest).raise_for_status()
