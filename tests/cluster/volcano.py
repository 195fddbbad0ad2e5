"""Volcano: the controllers, the scheduler and the admission webhooks, as they are deployed."""

from collections.abc import Callable
from pathlib import Path

import httpx
import yaml

from . import toolchain
from .pki import Authority
from .registration import NAMESPACE, WEBHOOK_PORT, create_crds, create_webhooks
from .sandbox import Sandbox

_SERVICE = "volcano-admission-service"
_QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
_POLICIES = "installer/helm/chart/volcano/config/volcano-scheduler.conf"
"""What a deployed scheduler does."""
_FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")


class Volcano:
    """Serves Jobs of batch.volcano.sh and schedules their pods in gangs.

    The webhooks are part of it: what they refuse would be a job that Volcano's users cannot create,
    and they write defaults into every stored job.
    """

    def install(self, api: httpx.Client) -> None:
        """Create its CRDs and webhook configurations."""
        source = _source()
        create_crds(api, source.glob("config/crd/volcano/bases/*.yaml"))
        text = (source / "installer/volcano-development.yaml").read_bytes()
        deployed = filter(None, yaml.load_all(text, yaml.CSafeLoader))
        webhooks = [each for each in deployed if each["kind"].endswith("WebhookConfiguration")]
        create_webhooks(api, webhooks, _SERVICE)

    def start(
        self, sandbox: Sandbox, api: httpx.Client, authority: Authority, kubeconfig: Path
    ) -> None:
        """Start its three processes."""
        served_as = f"{_SERVICE}.{NAMESPACE}.svc"
        identity = authority.issue("volcano-admission", served_as, user="volcano-admission")
        for program, arguments in (
            (
                toolchain.VOLCANO_WEBHOOKS,
                (
                    f"--ca-cert-file={authority.certificate}",
                    f"--tls-cert-file={identity.certificate}",
                    f"--tls-private-key-file={identity.key}",
                    f"--port={WEBHOOK_PORT}",
                    f"--webhook-namespace={NAMESPACE}",
                    f"--webhook-service-name={_SERVICE}",
                ),
            ),
            (
                toolchain.VOLCANO_CONTROLLERS,
                (
                    "--leader-elect=false",
                    "--controllers=+job-controller,+queue-controller,+pg-controller,+gc-controller",
                ),
            ),
            (
                toolchain.VOLCANO_SCHEDULER,
                (
                    "--leader-elect=false",
                    "--schedule-period=200ms",
                    f"--scheduler-conf={_source() / _POLICIES}",
                ),
            ),
        ):
            sandbox.run(
                program.name,
                program.build(),
                f"--kubeconfig={kubeconfig}",
                "--v=3",
                *_FAST,
                *arguments,
                KUBECONFIG=str(kubeconfig),  # else a plugin takes the user's own
                DEBUG_SOCKET_DIR=str(sandbox.directory),
            )

    def is_ready(self, api: httpx.Client, answers: Callable[[str], bool]) -> bool:
        """Tell whether its default queue is open.

        All three had to do something for that: the scheduler creates the queue, the webhooks admit
        it, and the controllers open it.
        """
        queue = api.get(_QUEUE)
        return queue.is_success and queue.json().get("status", {}).get("state") == "Open"


VOLCANO = Volcano()


def _source() -> Path:
    return toolchain.module_source("volcano", "volcano.sh/volcano")
