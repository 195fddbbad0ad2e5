"""The volumes of a pod: those of the settings, the time zone, and shared memory."""

from dlf.manifest import pods
from dlf.manifest.names import volume_name
from dlf.task.mounts import Mount
from dlf.task.settings import Platform

_ZONE = "/usr/share/zoneinfo/Asia/Shanghai"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount path that NCCL and data loaders use


def volumes(settings: Platform) -> tuple[list[pods.Volume], list[pods.VolumeMount]]:
    """The volumes and their mounts, in the order of the task.

    The host's time zone is mounted when the task has volumes, as the platform's users know it.
    Memory is always mounted on /dev/shm: the container runtime's 64 MiB are too few for training.
    A path is mounted once, as the API server demands: whatever comes first has it.
    """
    declared: list[pods.Volume] = []
    mounts: list[pods.VolumeMount] = []

    def add(volume: pods.Volume, mount: pods.VolumeMount) -> None:
        if all(mount.mount_path != other.mount_path for other in mounts):
            declared.append(volume)
            mounts.append(mount)

    for mount in settings.volumes:
        name = _unique(mount.source, declared)
        add(_volume(mount, name), _mount(mount, name, settings.creator))
    named = {mount.source for mount in settings.volumes} | {
        mount.path for mount in settings.volumes
    }
    if settings.volumes and _ZONE not in named:
        add(
            pods.Volume(name="tz-config", host_path=pods.HostPathSource(path=_ZONE)),
            pods.VolumeMount(name="tz-config", mount_path="/etc/localtime"),
        )
    add(
        pods.Volume(
            name="dshm",
            empty_dir=pods.EmptyDirSource(medium="Memory", size_limit=settings.shm_size),
        ),
        pods.VolumeMount(name="dshm", mount_path=_SHARED_MEMORY),
    )
    return declared, mounts


def _unique(source: str, declared: list[pods.Volume]) -> str:
    """A volume name for the source; sources that differ only in punctuation get a number."""
    taken = {volume.name for volume in declared} | {"tz-config", "dshm", "dlf-worker", "dlf-token"}
    name = volume_name(source) or "volume"
    return next(
        candidate
        for number in range(len(taken) + 1)
        if (candidate := f"{name}-{number}" if number else name) not in taken
    )


def _volume(mount: Mount, name: str) -> pods.Volume:
    match mount.kind:
        case "pvc" | "pvc-share":
            claim = pods.ClaimSource(claim_name=mount.source)
            return pods.Volume(name=name, persistent_volume_claim=claim)
        case "nfs":
            server, _, path = mount.source.partition("/")
            return pods.Volume(name=name, nfs=pods.NfsSource(server=server, path=f"/{path}"))
        case "hostpath":
            return pods.Volume(name=name, host_path=pods.HostPathSource(path=mount.source))
        case "configmap":
            return pods.Volume(name=name, config_map=pods.ConfigMapSource(name=mount.source))
        case "secret":
            return pods.Volume(name=name, secret=pods.SecretSource(secret_name=mount.source))
        case "memory":
            source = pods.EmptyDirSource(medium="Memory", size_limit=mount.source)
            return pods.Volume(name=name, empty_dir=source)


def _mount(mount: Mount, name: str, creator: str) -> pods.VolumeMount:
    """A personal claim shows only the user's own directory, under the user's name."""
    if mount.kind == "pvc" and creator:
        path = f"{mount.path.rstrip('/')}/{creator}"
        return pods.VolumeMount(name=name, mount_path=path, sub_path=creator)
    return pods.VolumeMount(name=name, mount_path=mount.path)
