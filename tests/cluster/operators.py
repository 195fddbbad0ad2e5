"""The operators of the jobs that dlf submits, run as plain processes beside the API server."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx
import yaml

from . import toolchain
from .image import WORKER_IMAGE
from .pki import Authority
from .registration import NAMESPACE, WEBHOOK_PORT, create, create_crds, create_webhooks
from .sandbox import Sandbox
from .toolchain import Program

KUBECTL_IMAGE = "dlf.test/kubectl-delivery:1"
"""Image by which an MPIJob's launcher gets its kubectl; a test that needs it imports it."""

_SERVICE = "training-operator"
_SECRET = "training-operator-webhook-cert"


class Operator(Protocol):
    """What a cluster does with an operator, in this order."""

    def install(self, api: httpx.Client) -> None:
        """Create its CRDs and what its webhooks need."""

    def start(
        self, sandbox: Sandbox, api: httpx.Client, authority: Authority, kubeconfig: Path
    ) -> None:
        """Start its processes, with an administrator's ``kubeconfig``; its CRDs are served."""

    def is_ready(self, api: httpx.Client, answers: Callable[[str], bool]) -> bool:
        """Tell whether it takes jobs; ``answers`` asks a URL inside the sandbox for success."""


@dataclass(frozen=True)
class KubeflowOperator:
    """One of Kubeflow's operators: one program, and webhooks only in the training operator."""

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
        """Create its CRDs, its webhook configuration, and the Secret that it fills."""
        source = toolchain.module_source(self.program.module, self.source)
        create_crds(api, source.glob(self.crds))
        if self.webhooks is not None:
            configuration = yaml.safe_load((source / self.webhooks).read_text())
            configuration["metadata"]["name"] = "validator.training-operator.kubeflow.org"
            create_webhooks(api, [configuration], _SERVICE)
            secret = {"metadata": {"name": _SECRET}}
            create(api, f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)

    def start(
        self, sandbox: Sandbox, api: httpx.Client, authority: Authority, kubeconfig: Path
    ) -> None:
        """Start its process, and hand it its certificates as the kubelet would mount them."""
        command: tuple[str | Path, ...] = (self.program.build(), *self.arguments)
        environment = {"KUBECONFIG": str(kubeconfig)}
        if self.webhooks is None:
            sandbox.run(self.program.name, *command, **environment)
            return
        mounted = sandbox.directory / "webhook-certificates"
        mounted.mkdir()
        own_mounts = """
            set -e
            mount -t tmpfs tmpfs /tmp
            mkdir -p /tmp/k8s-webhook-server/serving-certs
            mount --bind "$0" /tmp/k8s-webhook-server/serving-certs
            exec "$@"
        """
        unshare = ("unshare", "--mount", "sh", "-c", own_mounts, mounted)
        sandbox.run(self.program.name, *unshare, *command, **environment)
        _mount_certificates(sandbox, api, mounted)

    def is_ready(self, api: httpx.Client, answers: Callable[[str], bool]) -> bool:
        """Tell whether it says so."""
        return answers(self.ready)


def _training_operator(program: Program) -> KubeflowOperator:
    return KubeflowOperator(
        program,
        "github.com/kubeflow/training-operator",
        "manifests/base/crds/kubeflow.org_*.yaml",
        (
            "--zap-log-level=info",
            f"--webhook-server-port={WEBHOOK_PORT}",
            f"--pytorch-init-container-image={WORKER_IMAGE}",
            f"--mpi-kubectl-delivery-image={KUBECTL_IMAGE}",
        ),
        "http://127.0.0.1:8081/readyz",
        "manifests/base/webhook/manifests.yaml",
    )


TRAINING_OPERATOR_1_9 = _training_operator(toolchain.TRAINING_OPERATOR_1_9)
TRAINING_OPERATOR_1_8 = _training_operator(toolchain.TRAINING_OPERATOR_1_8)
"""The last release that serves MXJob."""
MPI_OPERATOR = KubeflowOperator(
    toolchain.MPI_OPERATOR,
    "github.com/kubeflow/mpi-operator",
    "manifests/base/kubeflow.org_*.yaml",
    (f"--lock-namespace={NAMESPACE}", "--kube-api-qps=500", "--kube-api-burst=1000"),
    "http://127.0.0.1:8080/healthz",
)
"""Serves MPIJob v2beta1 under the CRD name that the training operator uses for v1."""


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
