"""The pod that dlf itself runs in: the owner of the job, and the reason for a stop."""

from collections.abc import Mapping

from dlf.diagnose import pod_state
from dlf.errors import Rejected
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import POD
from dlf.manifest.meta import OwnerReference
from dlf.manifest.observed import Pod


class LauncherPod:
    """The launcher's own pod, if it can be read.

    Args:
        client: of the cluster.
        namespace: of the job; Kubernetes accepts only an owner in the same namespace.
        env: K8S_POD_NAME or HOSTNAME name the pod.
    """

    def __init__(self, client: KubeClient, namespace: str, env: Mapping[str, str]) -> None:
        self._client = client
        self._namespace = namespace
        in_cluster = "KUBERNETES_SERVICE_HOST" in env
        self._name = env.get("K8S_POD_NAME") or (env.get("HOSTNAME", "") if in_cluster else "")

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
        if not self._name:
            return None
        try:
            return await self._client.get(POD, self._namespace, self._name, Pod)
        except Rejected:  # the launcher may run without this permission
            return None
