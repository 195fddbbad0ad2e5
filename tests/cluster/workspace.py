"""A namespace in which a launcher may do its work, and nothing more."""

from dataclasses import dataclass
from pathlib import Path

import httpx

from dlf.preflight.permissions import rules

from .pki import Authority
from .sandbox import wait_until

SERVICE_ACCOUNT = "kubeflow-pipeline"
_TOKEN_SECONDS = 3600


@dataclass(frozen=True)
class Workspace:
    """A namespace of its own, and the credentials of the launcher in it."""

    namespace: str
    kubeconfig: Path
    """The ServiceAccount's token; reachable from outside the cluster."""


def create_workspace(
    api: httpx.Client, authority: Authority, server: str, directory: Path, name: str
) -> Workspace:
    """Create namespace, ServiceAccount, Role, binding and kubeconfig.

    The Role has what dlf says that it needs, so that what dlf leaves unsaid fails the tests. On
    return pods can be created there: the namespace has its default ServiceAccount.
    """
    api.post("/api/v1/namespaces", json={"metadata": {"name": name}}).raise_for_status()
    core = f"/api/v1/namespaces/{name}"
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{name}"
    metadata = {"name": SERVICE_ACCOUNT}
    account = {"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": SERVICE_ACCOUNT}
    for path, manifest in (
        (f"{core}/serviceaccounts", {"metadata": metadata}),
        (f"{rbac}/roles", {"metadata": metadata, "rules": rules("run", "explain", cluster=False)}),
        (f"{rbac}/rolebindings", {"metadata": metadata, "roleRef": role, "subjects": [account]}),
    ):
        api.post(path, json=manifest).raise_for_status()
    answer = api.post(
        f"{core}/serviceaccounts/{SERVICE_ACCOUNT}/token",
        json={"spec": {"expirationSeconds": _TOKEN_SECONDS}},
    )
    token = answer.raise_for_status().json()["status"]["token"]
    kubeconfig = authority.kubeconfig(
        directory / f"{name}.kubeconfig", server, token, namespace=name
    )
    default = f"{core}/serviceaccounts/default"
    wait_until(lambda: api.get(default).is_success, f"default ServiceAccount in {name}")
    return Workspace(name, kubeconfig)
