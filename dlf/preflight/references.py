"""Lists the objects that a job's pods refer to and that must exist."""

from collections.abc import Iterable

import msgspec

from dlf.manifest.jobs.kind import ssh_secret
from dlf.manifest.jobs.volcano import VolcanoJobSpec
from dlf.manifest.kinds import Kind
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import PodSpec
from dlf.preflight.capacity import RolePods

CLAIM = Kind(group="", version="v1", name="PersistentVolumeClaim", plural="persistentvolumeclaims")
CONFIG_MAP = Kind(group="", version="v1", name="ConfigMap", plural="configmaps")
SECRET = Kind(group="", version="v1", name="Secret", plural="secrets")
PRIORITY_CLASS = Kind(
    group="scheduling.k8s.io", version="v1", name="PriorityClass", plural="priorityclasses"
)


class Reference(msgspec.Struct, frozen=True):
    """An object by name. Pods start without an `optional` one."""

    kind: Kind
    name: str
    optional: bool = False


def pods_by_role(manifest: Manifest) -> list[RolePods]:
    """The pods of a job."""
    spec = manifest.spec
    if isinstance(spec, VolcanoJobSpec):
        return [RolePods(task.name, task.replicas, task.template.spec) for task in spec.tasks]
    return [
        RolePods(name.lower(), replica.replicas, replica.template.spec)
        for name, replica in spec.replica_specs.items()
    ]


def references(manifest: Manifest) -> list[Reference]:
    """The objects that the pods of a job refer to, each once."""
    found = [each for role in pods_by_role(manifest) for each in _of_pod(role.spec)]
    made = Reference(SECRET, ssh_secret(manifest.metadata.name))  # by the operator, with the job
    found = [each for each in found if each != made]
    if isinstance(manifest.spec, VolcanoJobSpec) and manifest.spec.priority_class_name:
        found.append(Reference(PRIORITY_CLASS, manifest.spec.priority_class_name))
    return list(dict.fromkeys(found))


def _of_pod(spec: PodSpec) -> Iterable[Reference]:
    for volume in spec.volumes:
        if volume.persistent_volume_claim:
            yield Reference(CLAIM, volume.persistent_volume_claim.claim_name)
        if volume.config_map:
            yield Reference(CONFIG_MAP, volume.config_map.name)
        if volume.secret:
            yield Reference(SECRET, volume.secret.secret_name)
    for secret in spec.image_pull_secrets:
        yield Reference(SECRET, secret.name, optional=True)  # the kubelet pulls without it
    if spec.priority_class_name:
        yield Reference(PRIORITY_CLASS, spec.priority_class_name)
