"""etcd, API server, controllers and scheduler, without authentication shortcuts: RBAC is real."""

from . import toolchain
from .gateway import API_PORT, INSIDE
from .pki import Authority
from .sandbox import NODE_ADDRESS, SERVICE_ADDRESS, Sandbox

_ETCD = "http://127.0.0.1:2379"
_FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""With the default limits the default ServiceAccount of a namespace comes seconds late."""


def start_etcd(sandbox: Sandbox) -> None:
    """Start etcd; what it holds dies with the cluster, so it need not reach the disk."""
    sandbox.run(
        "etcd",
        toolchain.ETCD.build(),
        "--name=test",
        "--initial-cluster=test=http://127.0.0.1:2380",
        "--initial-advertise-peer-urls=http://127.0.0.1:2380",
        f"--data-dir={sandbox.directory / 'etcd'}",
        f"--listen-client-urls={_ETCD}",
        f"--advertise-client-urls={_ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )


def start_apiserver(sandbox: Sandbox, authority: Authority) -> None:
    """Start the API server at `gateway.INSIDE` and at ClusterIP `SERVICE_ADDRESS`."""
    names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    hosts = ["localhost", "127.0.0.1", NODE_ADDRESS, SERVICE_ADDRESS, *names]
    serving = authority.issue("apiserver", *hosts, user="kube-apiserver")
    client = authority.issue("apiserver-kubelet", user="kube-apiserver", group="system:masters")
    tokens = authority.issue("service-account", user="service-account")
    sandbox.run(
        "kube-apiserver",
        toolchain.APISERVER.build(),
        f"--etcd-servers={_ETCD}",
        f"--secure-port={API_PORT}",
        f"--advertise-address={NODE_ADDRESS}",
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={SERVICE_ADDRESS.rsplit('.', 2)[0]}.0.0/16",
        f"--cert-dir={sandbox.directory / 'apiserver'}",
        f"--client-ca-file={authority.certificate}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--kubelet-certificate-authority={authority.certificate}",
        f"--kubelet-client-certificate={client.certificate}",
        f"--kubelet-client-key={client.key}",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={tokens.certificate}",
        f"--service-account-signing-key-file={tokens.key}",
    )


def start_controllers(sandbox: Sandbox, authority: Authority) -> None:
    """Start the controller manager and the scheduler."""
    for name, program, arguments in (
        (
            "controller-manager",
            toolchain.CONTROLLERS,
            (
                "--use-service-account-credentials",
                "--node-monitor-grace-period=10s",  # of silence, then a node is lost; else 50 s
                "--node-monitor-period=1s",
                f"--service-account-private-key-file={sandbox.directory}/pki/service-account.key",
                f"--root-ca-file={authority.certificate}",
                f"--flex-volume-plugin-dir={sandbox.directory / 'volume-plugins'}",
            ),
        ),
        ("scheduler", toolchain.SCHEDULER, ()),
    ):
        user = authority.issue(name, user=f"system:kube-{name}")
        kubeconfig = sandbox.directory / f"{name}.kubeconfig"
        authority.kubeconfig(kubeconfig, INSIDE, user)
        sandbox.run(
            program.name,
            program.build(),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--cert-dir={sandbox.directory / name}",
            *_FAST,
            *arguments,
        )
