"""Which API server to use: a kubeconfig, or the pod's service account.

Order: `--kubeconfig`, the files of $KUBECONFIG, the service account of the pod we run in,
~/.kube/config. Every error is one line, before anything is sent. A `proxy-url` of the kubeconfig
comes before the proxy variables of the environment, which hold in a pod too, as for kubectl.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from dlf.errors import UsageError
from dlf.kube.cluster_config import ClusterConfig, TokenFile
from dlf.kube.proxy import proxy_from_environment

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes mounts token, ca.crt and namespace in every pod."""


def load_config(
    env: Mapping[str, str], *, kubeconfig: str = "", context: str = ""
) -> ClusterConfig:
    """Find the cluster, and the proxy on the way to it.

    Args:
        env: the process's environment.
        kubeconfig: path that the user gave; nothing else is tried then.
        context: name of a context; only kubeconfig files have one.

    Raises:
        UsageError: there is no configuration, or it is wrong.
    """
    config = _find(env, kubeconfig, context)
    if config.proxy:
        return config
    proxy, variable = proxy_from_environment(config.server, env)
    return msgspec.structs.replace(config, proxy=proxy, proxy_origin=variable)


def _find(env: Mapping[str, str], kubeconfig: str, context: str) -> ClusterConfig:
    if kubeconfig:
        return _from_kubeconfig([Path(kubeconfig)], env, context)
    listed = [Path(name) for name in env.get("KUBECONFIG", "").split(":") if name]
    if files := [path for path in listed if _exists(path)]:
        return _from_kubeconfig(files, env, context)
    host = env.get("KUBERNETES_SERVICE_HOST", "")
    if host and not context and _exists(SERVICE_ACCOUNT / "token"):
        return _in_cluster(host, env.get("KUBERNETES_SERVICE_PORT", "") or "443")
    home = Path(env["HOME"]) / ".kube" / "config" if env.get("HOME") else None
    if home and _exists(home):
        return _from_kubeconfig([home], env, context)
    raise UsageError(
        f"no Kubernetes configuration: {_reasons(env, host, home)}",
        "give --kubeconfig FILE; --runtime local and --dry-run need no cluster",
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that we may not read, such as another user's home
        return False


def _reasons(env: Mapping[str, str], host: str, home: Path | None) -> str:
    reasons = []
    if env.get("KUBECONFIG"):
        reasons.append(f"KUBECONFIG={env['KUBECONFIG']} names no existing file")
    if host:
        reasons.append(f"this pod has no service account token in {SERVICE_ACCOUNT}")
    else:
        reasons.append("not in a pod (no KUBERNETES_SERVICE_HOST)")
    reasons.append(f"no {home}" if home else "no HOME to look for .kube/config in")
    return ", ".join(reasons)


def _from_kubeconfig(files: list[Path], env: Mapping[str, str], context: str) -> ClusterConfig:
    # PyYAML costs start-up time, and a pod with a service account never needs it.
    from dlf.kube.kubeconfig import read_kubeconfig

    return read_kubeconfig(files, env, context)


def _in_cluster(host: str, port: str) -> ClusterConfig:
    name = f"[{host}]" if ":" in host else host
    try:
        ca = (SERVICE_ACCOUNT / "ca.crt").read_bytes()
        namespace = (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"service account of this pod: {error}") from error
    return ClusterConfig(
        origin="the service account of this pod",
        server=f"https://{name}:{port}",
        namespace=namespace,
        ca=ca,
        credential=TokenFile(SERVICE_ACCOUNT / "token"),
    )
