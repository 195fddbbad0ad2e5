"""Puts `dlf worker` before the command of the training container, where a task asks for it.

The executable comes from dlf's own image by an init container and a volume, so that the training
image needs nothing: no shell, no libc, no root. It may be in the training image already.
"""

from collections.abc import Sequence

import msgspec

from dlf.errors import UsageError
from dlf.manifest import pods
from dlf.task.settings import TaskSettings

VOLUME = "dlf-worker"
_DIRECTORY = "/dlf"

_FEATURES = ("processes", "process_env", "wait_peers", "hostfile", "remote", "stacks")
"""Settings for which `--worker=auto` adds the worker; the others only change how it works."""

_SETTINGS = (
    *_FEATURES,
    *("grace", "wait_timeout", "hostfile_form", "slots", "remote_port", "token_file"),
)


class WorkerSource(msgspec.Struct, frozen=True):
    """Where the executable in the training container comes from.

    Attributes:
        program: its path in the training container.
        image: from which an init container copies it; "" when the training image has it.
    """

    program: str
    image: str = ""

    def install(self, settings: TaskSettings, resources: pods.Resources | None) -> pods.Container:
        """The init container. It may use what the training container may, before that starts."""
        return pods.Container(
            name=VOLUME,
            image=self.image,
            image_pull_policy=settings.pull_policy,
            command=["dlf", "install", "--quiet", _DIRECTORY],
            resources=resources,
            volume_mounts=[pods.VolumeMount(name=VOLUME, mount_path=_DIRECTORY)],
        )

    @property
    def mount(self) -> pods.VolumeMount:
        """The volume in the training container."""
        return pods.VolumeMount(name=VOLUME, mount_path=_DIRECTORY, read_only=True)


def worker_source(settings: TaskSettings) -> WorkerSource | None:
    """Where the worker comes from, or None when the task needs none.

    Raises:
        UsageError: it is switched off but needed, or dlf's own image is not known.
    """
    features = _used_features(settings)
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
    return WorkerSource(f"{_DIRECTORY}/dlf", settings.worker_image)


def with_worker(settings: TaskSettings, program: str, command: Sequence[str]) -> list[str]:
    """The container's command with the worker before it."""
    words = []
    for field in msgspec.structs.fields(type(settings)):
        value = getattr(settings, field.name)
        if field.name in _SETTINGS and value != field.default:
            words.append(f"--{field.name}" if value is True else f"--{field.name}={_text(value)}")
    return [program, "worker", *words, "--", *command]


def refuse_worker(settings: TaskSettings, instead: str) -> None:
    """Refuse the worker's flags, for frameworks whose launcher starts the processes of all pods.

    Raises:
        UsageError: a flag of the worker is set.
    """
    for name in _used_features(settings):
        raise UsageError(f"--{name} is not for jobs that mpirun starts", instead)


def _used_features(settings: TaskSettings) -> list[str]:
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(settings))}
    return [name for name in _FEATURES if getattr(settings, name) != defaults[name]]


def _text(value: object) -> str:
    return f"{value:.0f}s" if isinstance(value, float) else str(value)
