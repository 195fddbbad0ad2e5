"""The resources that dlf submits or reads, where the API serves them, how pods name their job."""

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One namespaced resource kind.

    Attributes:
        group: API group, "" for the core group.
        version: served version, such as `v1` or `v2beta1`.
        name: the kind, such as `PyTorchJob`.
        plural: the resource name in URLs and RBAC rules.
        job_label: label key under which the operator writes the job's name on each pod (jobs only).
    """

    group: str
    version: str
    name: str
    plural: str
    job_label: str = ""

    @property
    def api_version(self) -> str:
        """`group/version`, or just the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def word(self) -> str:
        """The value of the platform's `type` label: the kind in lower case, or `volcanojob`."""
        return "volcanojob" if self.group == "batch.volcano.sh" else self.name.lower()


TRAINING_LABEL = "training.kubeflow.org/job-name"
VOLCANO_LABEL = "volcano.sh/job-name"


def _kubeflow(name: str, plural: str, version: str = "v1") -> Kind:
    return Kind(
        group="kubeflow.org", version=version, name=name, plural=plural, job_label=TRAINING_LABEL
    )


TFJOB = _kubeflow("TFJob", "tfjobs")
PYTORCHJOB = _kubeflow("PyTorchJob", "pytorchjobs")
PADDLEJOB = _kubeflow("PaddleJob", "paddlejobs")
MXJOB = _kubeflow("MXJob", "mxjobs")
MPIJOB = _kubeflow("MPIJob", "mpijobs")
MPIJOB_V2BETA1 = _kubeflow("MPIJob", "mpijobs", "v2beta1")
VOLCANO_JOB = Kind(
    group="batch.volcano.sh", version="v1alpha1", name="Job", plural="jobs", job_label=VOLCANO_LABEL
)
JOB_KINDS = (PYTORCHJOB, TFJOB, PADDLEJOB, MXJOB, MPIJOB, MPIJOB_V2BETA1, VOLCANO_JOB)

POD = Kind(group="", version="v1", name="Pod", plural="pods")
EVENT = Kind(group="", version="v1", name="Event", plural="events")
POD_GROUP = Kind(
    group="scheduling.volcano.sh", version="v1beta1", name="PodGroup", plural="podgroups"
)
COMMAND = Kind(group="bus.volcano.sh", version="v1alpha1", name="Command", plural="commands")
