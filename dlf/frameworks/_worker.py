"""Puts `dlf worker` before the command of the training container, where a task asks for it.

The executable comes from dlf's own image by an init container and a volume, so that the training
image needs nothing: no shell, no libc, no root. It may be in the training image already.
"""

from collections.abc import Collection, Sequence

import msgspec

from dlf.errors import UsageError
from dlf.manifest import pods
from dlf.manifest.jobs.kind import JobKind, ssh_secret
from dlf.task.settings import TaskSettings
from dlf.task.worker_flags import LOCAL_IMAGE, PROGRAM, TOKEN_DIRECTORY, TOKEN_FILE

_VOLUME, _TOKEN_VOLUME = "dlf-worker", "dlf-token"
_READABLE_BY_ALL = 0o444  # of the pod's containers, whose users may be others than root

_FEATURES = ("processes", "process_env", "wait_peers", "hostfile", "remote", "stacks")
"""Settings for which `--worker=auto` adds the worker; the others only change how it works."""

ALL_FLAGS = frozenset(
    (
        *_FEATURES,
        *("grace", "wait_timeout", "hostfile_form", "slots", "remote_port", "token_file"),
    )
)
REMOTE_FLAGS = frozenset(("remote", "remote_port", "token_file", "grace"))


class WorkerSource(msgspec.Struct, frozen=True):
    """Where the executable in the training container comes from.

    Attributes:
        program: its path in the training container.
        image: from which an init container copies it; "" when the training image has it.
    """

    program: str
    image: str = ""

    def init_containers(
        self, settings: TaskSettings, resources: pods.Resources | None
    ) -> list[pods.Container]:
        """What copies it. It may use what the training container may, before that starts."""
        if not self.image:
            return []
        directory = PROGRAM.rpartition("/")[0]
        return [
            pods.Container(
                name=_VOLUME,
                image=self.image,
                image_pull_policy=settings.pull_policy,
                command=["dlf", "install", "--quiet", directory],
                resources=resources,
                volume_mounts=[pods.VolumeMount(name=_VOLUME, mount_path=directory)],
            )
        ]

    def volumes(
        self, settings: TaskSettings, kind: JobKind, job: str
    ) -> list[tuple[pods.Volume, pods.VolumeMount]]:
        """What the training container needs of it: the executable, and the secret of `--remote`.

        Raises:
            UsageError: the operator makes no secret for the job, and the user names none.
        """
        found = []
        if self.image:
            mount = pods.VolumeMount(
                name=_VOLUME, mount_path=PROGRAM.rpartition("/")[0], read_only=True
            )
            found.append((pods.Volume(name=_VOLUME, empty_dir=pods.EmptyDirSource()), mount))
        wants_secret = settings.remote and settings.token_file == TOKEN_FILE
        if wants_secret and kind.ssh_key:
            secret = pods.SecretSource(
                secret_name=ssh_secret(job),
                items=[pods.KeyToPath(key=kind.ssh_key, path=TOKEN_FILE.rpartition("/")[2])],
                default_mode=_READABLE_BY_ALL,
            )
            mount = pods.VolumeMount(name=_TOKEN_VOLUME, mount_path=TOKEN_DIRECTORY, read_only=True)
            found.append((pods.Volume(name=_TOKEN_VOLUME, secret=secret), mount))
        elif wants_secret and settings.worker_image != LOCAL_IMAGE:
            raise UsageError(
                f"--remote needs a secret of the job, and the operator makes none for a {kind.name}"
                f" of {kind.group}/{kind.version}",
                "mount one, --volume='NAME(secret):/PATH', and write --token_file=/PATH/KEY",
            )
        return found


def worker_source(settings: TaskSettings) -> WorkerSource | None:
    """Where the worker comes from, or None when the task needs none.

    Raises:
        UsageError: it is switched off but needed, or dlf's own image is not known.
    """
    features = used_features(settings)
    if settings.worker == "off" and features:
        raise UsageError(
            f"--worker=off, but --{features[0]} needs the worker", "leave one of the two out"
        )
    if settings.worker == "off" or (settings.worker == "auto" and not features):
        return None
    if settings.worker not in {"auto", "image"}:
        return WorkerSource(settings.worker)
    if not settings.worker_image:
        raise UsageError(
            "it is not known which image `dlf worker` comes from",
            "give --worker_image=IMAGE OF DLF, or --worker=PATH IN THE TRAINING IMAGE",
        )
    return WorkerSource(PROGRAM, settings.worker_image)


def with_worker(
    settings: TaskSettings,
    program: str,
    command: Sequence[str],
    flags: Collection[str] = ALL_FLAGS,
) -> list[str]:
    """The container's command with the worker before it.

    Args:
        settings: of the task.
        program: path of the worker.
        command: what it runs.
        flags: those of the task that are for this container.
    """
    words = []
    for field in msgspec.structs.fields(type(settings)):
        value = getattr(settings, field.name)
        if field.name in flags and value != field.default:
            words.append(f"--{field.name}" if value is True else f"--{field.name}={_text(value)}")
    return [program, "worker", *words, "--", *command]


def used_features(settings: TaskSettings) -> list[str]:
    """The flags of the task that need the worker."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(settings))}
    return [name for name in _FEATURES if getattr(settings, name) != defaults[name]]


def _text(value: object) -> str:
    return f"{value:.0f}s" if isinstance(value, float) else str(value)
