"""The node: containerd with runc and a bridge, and a kubelet, in the cluster's directory."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx

from . import toolchain
from .gateway import INSIDE
from .image import WORKER_IMAGE
from .pki import Authority
from .sandbox import BRIDGE, NODE_ADDRESS, Sandbox

NODE = "node-1"

_LABELS = "cpu=true,train=true,gpu=true,gpu-type=V100"
"""What the platform's node selectors look for."""
_PATH = f"/api/v1/nodes/{NODE}"
_CRI = 'plugins."io.containerd.grpc.v1.cri"'


def start_containerd(sandbox: Sandbox, images: list[Path]) -> None:
    """Start containerd and give it ``images`` (OCI archives)."""
    directory = sandbox.directory / "containerd"
    network = directory / "cni"
    network.mkdir(parents=True)
    (network / "10-bridge.conflist").write_text(_bridge(directory))
    configuration = directory / "config.toml"
    configuration.write_text(_containerd_configuration(directory, network))
    sandbox.run("containerd", "containerd", "--config", configuration)
    sandbox.wait(_socket(sandbox).exists, "containerd")
    for archive in images:
        import_image(sandbox, archive)


def import_image(sandbox: Sandbox, archive: Path) -> None:
    """Make the image in ``archive`` known to the node, under the name that it carries."""
    sandbox.check("ctr", "--address", _socket(sandbox), "--namespace", "k8s.io",
                  "images", "import", archive)  # fmt: skip


def start_kubelet(sandbox: Sandbox, authority: Authority) -> None:
    """Start the kubelet, which registers the node."""
    directory = sandbox.directory / "kubelet"
    directory.mkdir()
    identity = authority.issue(
        "kubelet", NODE, NODE_ADDRESS, user=f"system:node:{NODE}", group="system:nodes"
    )
    kubeconfig = authority.kubeconfig(directory / "kubeconfig", INSIDE, identity)
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.certificate)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(identity.certificate),
        "tlsPrivateKeyFile": str(identity.key),
        "containerRuntimeEndpoint": f"unix://{_socket(sandbox)}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{sandbox.cgroup}",
        "clusterDomain": "cluster.local",
        "clusterDNS": [NODE_ADDRESS],
        "resolvConf": "",
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "evictionHard": {"memory.available": "100Mi"},  # disk pressure is the machine's business
        "imageGCHighThresholdPercent": 100,
        "oomScoreAdj": 0,  # lower values need CAP_SYS_RESOURCE
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "nodeStatusUpdateFrequency": "1s",
        "volumePluginDir": str(directory / "volume-plugins"),
    }
    (directory / "config.json").write_text(json.dumps(configuration))
    sandbox.run(
        "kubelet",
        toolchain.KUBELET.build(),
        f"--config={directory / 'config.json'}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={directory / 'root'}",
        f"--cert-dir={directory / 'certificates'}",
        f"--hostname-override={NODE}",
        f"--node-ip={NODE_ADDRESS}",
        f"--node-labels={_LABELS}",
    )


def is_ready(api: httpx.Client) -> bool:
    """Tell whether the node has registered and takes pods."""
    answer = api.get(_PATH)
    conditions = answer.json()["status"].get("conditions", []) if answer.is_success else []
    return ("Ready", "True") in [(each["type"], each["status"]) for each in conditions]


def add_capacity(api: httpx.Client, resources: Mapping[str, str]) -> None:
    """Add extended resources, which the scheduler then counts and nothing provides."""
    api.patch(
        f"{_PATH}/status",
        json={"status": {"capacity": resources}},
        headers={"Content-Type": "application/merge-patch+json"},
    ).raise_for_status()


def _socket(sandbox: Sandbox) -> Path:
    return sandbox.directory / "containerd" / "containerd.sock"


def _containerd_configuration(directory: Path, network: Path) -> str:
    return f"""
version = 2
root = "{directory}/root"
state = "{directory}/state"
[grpc]
address = "{directory}/containerd.sock"
[ttrpc]
address = "{directory}/containerd.sock.ttrpc"
[{_CRI}]
sandbox_image = "{WORKER_IMAGE}"
disable_apparmor = true
restrict_oom_score_adj = true  # lower values need CAP_SYS_RESOURCE
[{_CRI}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{_CRI}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{network}"
"""


def _bridge(directory: Path) -> str:
    subnet = NODE_ADDRESS.rsplit(".", 1)[0] + ".0/24"
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(directory / "addresses"),
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]})
