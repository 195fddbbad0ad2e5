"""Kubernetes resource kinds, and where the API serves them; `dlf.manifest.jobs` has the jobs."""

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One namespaced resource kind.

    Attributes:
        group: API group, "" for the core group.
        version: served version, such as `v1` or `v2beta1`.
        name: the kind, such as `PyTorchJob`.
        plural: the resource name in URLs and RBAC rules.
    """

    group: str
    version: str
    name: str
    plural: str

    @property
    def api_version(self) -> str:
        """`group/version`, or just the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def title(self) -> str:
        """What messages call it: its name, which for Volcano's `Job` is not enough."""
        return "Volcano Job" if self.group == "batch.volcano.sh" else self.name

    @property
    def type_label(self) -> str:
        """The value of the platform's `type` label: the kind in lower case, or `volcanojob`."""
        return "volcanojob" if self.group == "batch.volcano.sh" else self.name.lower()


POD = Kind(group="", version="v1", name="Pod", plural="pods")
EVENT = Kind(group="", version="v1", name="Event", plural="events")
POD_GROUP = Kind(
    group="scheduling.volcano.sh", version="v1beta1", name="PodGroup", plural="podgroups"
)
COMMAND = Kind(group="bus.volcano.sh", version="v1alpha1", name="Command", plural="commands")
