"""The pod that dlf itself runs in: the owner of the job, and the reason for a stop."""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

import msgspec

from dlf.diagnose import pod_state
from dlf.errors import Rejected
from dlf.kube.client import KubeClient
from dlf.kube.config import SERVICE_ACCOUNT
from dlf.manifest.kinds import POD
from dlf.manifest.meta import OwnerReference
from dlf.manifest.observed import Pod

NAME_VARIABLES = ("K8S_POD_NAME", "ARGO_POD_NAME", "POD_NAME")
"""Variables that may hold the pod's name, by the downward API; HOSTNAME is tried after them."""


class PodClaim(msgspec.Struct, frozen=True):
    """The pod that a bound service account token was issued for (its claim `kubernetes.io`)."""

    name: str = ""
    uid: str = ""


class _BoundTo(msgspec.Struct, frozen=True):
    namespace: str = ""
    pod: PodClaim = PodClaim()


class _Claims(msgspec.Struct, frozen=True):
    bound: _BoundTo = msgspec.field(name="kubernetes.io", default=_BoundTo())


def pod_claim(token: str, namespace: str) -> PodClaim:
    """The pod that a token names, if it is in this namespace; empty for tokens that name none.

    The signature is not checked: the name is only asked for, and the uid compared.
    """
    try:
        _, payload, _ = token.strip().split(".")
        claims = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        bound = msgspec.json.decode(claims, type=_Claims).bound
    except (ValueError, binascii.Error, msgspec.DecodeError):
        return PodClaim()
    return bound.pod if bound.namespace == namespace else PodClaim()


class LauncherPod:
    """The launcher's own pod, if it can be read.

    Its name is that in the token's claim, which is exact, or else in one of `NAME_VARIABLES`, or
    else HOSTNAME, which Kubernetes cuts at 63 characters.

    Args:
        client: of the cluster.
        namespace: of the job; Kubernetes accepts only an owner in the same namespace.
        env: of this process.

    Attributes:
        problem: why the pod could not be read, or ""; known after `owner` or `disruption`.
    """

    def __init__(self, client: KubeClient, namespace: str, env: Mapping[str, str]) -> None:
        self._client = client
        self._namespace = namespace
        self._in_cluster = "KUBERNETES_SERVICE_HOST" in env
        self._claim = PodClaim()
        if self._in_cluster:
            self._claim = pod_claim(_token(), namespace)
        names = [self._claim.name, *(env.get(name, "") for name in NAME_VARIABLES)]
        names += [env.get("HOSTNAME", "")] if self._in_cluster else []
        self._names = tuple(dict.fromkeys(filter(None, names)))
        self.problem = ""

    async def owner(self) -> OwnerReference | None:
        """The reference by which Kubernetes deletes the job together with the launcher's pod."""
        pod = await self._pod()
        if not pod:
            return None
        return OwnerReference(
            api_version=POD.api_version,
            kind=POD.name,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
        )

    async def disruption(self) -> str:
        """Why the cluster removes this pod, or "" when it does not."""
        pod = await self._pod()
        return pod_state.disruption(pod) if pod else ""

    async def _pod(self) -> Pod | None:
        self.problem = ""
        for name in self._names:
            try:
                pod = await self._client.get(POD, self._namespace, name, Pod)
            except Rejected as error:  # the launcher may run without this permission
                self.problem = error.message
                return None
            if pod and (name != self._claim.name or pod.metadata.uid == self._claim.uid):
                return pod
        if self._names:
            listed = " or ".join(map(repr, self._names))
            self.problem = f"no pod is named {listed} in namespace {self._namespace}"
        elif self._in_cluster:
            self.problem = f"none of {', '.join(NAME_VARIABLES)} is set"
        return None


def _token() -> str:
    """The token of this pod's service account, or ""."""
    try:
        return Path(SERVICE_ACCOUNT, "token").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
