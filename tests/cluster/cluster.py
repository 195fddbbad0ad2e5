"""A whole Kubernetes cluster as a context manager."""

import itertools
import os
import shutil
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from . import node
from .control_plane import start_apiserver, start_controllers, start_etcd
from .gateway import INSIDE, Gateway
from .image import worker_image
from .operators import Operator
from .pki import Authority, Identity
from .registration import NAMESPACE, are_served
from .sandbox import Sandbox, sweep
from .toolchain import CACHE, OF_CLUSTERS
from .workspace import Workspace, create_workspace

_PREFIX = Path("/var/tmp/dlf-cluster-")
_NUMBERS = itertools.count()
_CARDS = {"nvidia.com/gpu": "8"}


@dataclass(frozen=True)
class Cluster:
    """A running cluster, seen from outside."""

    server: str
    """URL of the API server, on the machine's loopback."""
    kubeconfig: Path
    """The administrator's."""
    api: httpx.Client
    """The administrator's connection, for what a test prepares or checks by plain HTTP."""
    authority: Authority
    sandbox: Sandbox

    def workspace(self, name: str) -> Workspace:
        """Create a namespace with the ServiceAccount, Role and kubeconfig of a launcher."""
        directory = self.sandbox.directory
        return create_workspace(self.api, self.authority, self.server, directory, name)

    def import_image(self, archive: Path) -> None:
        """Make an image, written by ``image.write_image``, known to the node."""
        node.import_image(self.sandbox, archive)


@contextmanager
def running_cluster(operator: Operator) -> Iterator[Cluster]:
    """Start etcd, control plane, one node with real containers, and ``operator``.

    When the block is left, no process, mount, cgroup or file of the cluster remains; when this
    process is killed, its processes and mounts go at once and the next cluster removes the rest.

    Promised: 8 GPUs of ``nvidia.com/gpu`` that exist on paper; names of headless Services resolve
    in pods; ``kubernetes.default.svc`` is reachable from pods with their ServiceAccount's token.
    Not promised: ClusterIP Services other than that one, or traffic to any other machine.

    Raises:
        RuntimeError, TimeoutError: a component ended or did not get ready; its log is in a note.
    """
    for program in OF_CLUSTERS:
        program.build()  # minutes, when cold, in which nothing may wait for it
    sweep(_PREFIX)
    with ExitStack() as teardown:
        directory = Path(f"{_PREFIX}{os.getpid()}-{next(_NUMBERS)}")
        directory.mkdir(mode=0o700)
        teardown.callback(shutil.rmtree, directory)
        sandbox = Sandbox(directory)
        teardown.callback(sandbox.stop)
        sandbox.start()
        authority = Authority(directory / "pki")
        admin = authority.issue("admin", user="admin", group="system:masters")
        gateway = Gateway(sandbox.enter_network, authority, admin)
        teardown.callback(gateway.stop)
        gateway.start()
        tls = ssl.create_default_context(cafile=authority.certificate)
        tls.load_cert_chain(admin.certificate, admin.key)
        api = httpx.Client(base_url=gateway.server, verify=tls, trust_env=False, timeout=60)
        teardown.callback(api.close)
        kubeconfig = directory / "admin.kubeconfig"
        authority.kubeconfig(kubeconfig, gateway.server, admin)
        cluster = Cluster(gateway.server, kubeconfig, api, authority, sandbox)
        try:
            _start(cluster, gateway, operator, admin)
        except Exception as error:
            error.add_note(sandbox.last_words())
            raise
        yield cluster


def _start(cluster: Cluster, gateway: Gateway, operator: Operator, admin: Identity) -> None:
    """Start the components in an order in which nothing waits longer than it must."""
    sandbox, authority, api = cluster.sandbox, cluster.authority, cluster.api
    start_etcd(sandbox)
    start_apiserver(sandbox, authority)
    node.start_containerd(sandbox, [worker_image(CACHE / "images")])
    sandbox.wait(lambda: _succeeds(api, "/readyz"), "API server")
    start_controllers(sandbox, authority)
    node.start_kubelet(sandbox, authority)
    api.post("/api/v1/namespaces", json={"metadata": {"name": NAMESPACE}}).raise_for_status()
    operator.install(api)
    inner = authority.kubeconfig(sandbox.directory / "operator.kubeconfig", INSIDE, admin)
    sandbox.wait(lambda: are_served(api), "CRDs")
    operator.start(sandbox, api, authority, inner)
    sandbox.wait(lambda: node.is_ready(api), "node")
    node.add_capacity(api, _CARDS)
    sandbox.wait(lambda: operator.is_ready(api, gateway.answers), "operator")


def _succeeds(api: httpx.Client, path: str) -> bool:
    try:
        return api.get(path).is_success
    except httpx.TransportError:
        return False
