"""The training container with `dlf worker` before its command, where a task asks for that.

The executable comes from dlf's own image by an init container and a volume, so that the training
image needs nothing: no shell, no libc, no root. It may be in the training image already.
"""

from collections.abc import Sequence

import msgspec

from dlf.errors import UsageError
from dlf.manifest import pods
from dlf.task.settings import TaskSettings

VOLUME = "dlf-worker"
_FOLDER = "/dlf"

_FEATURES = ("processes", "process_env", "wait_peers", "hostfile", "remote", "stacks")
"""What makes `--worker=auto` bring the worker; the other settings only say how."""

_SETTINGS = (
    *_FEATURES,
    *("grace", "wait_timeout", "hostfile_form", "slots", "remote_port", "token_file"),
)


class Bringing(msgspec.Struct, frozen=True):
    """How the executable gets into the training container.

    Attributes:
        program: its path there.
        image: that an init container copies it from; "" when it is there already.
    """

    program: str
    image: str = ""

    def install(self, settings: TaskSettings, resources: pods.Resources | None) -> pods.Container:
        """The init container. It may use what the training container may, before that starts."""
        return pods.Container(
            name=VOLUME,
            image=self.image,
            image_pull_policy=settings.pull_policy,
            command=["dlf", "install", "--quiet", _FOLDER],
            resources=resources,
            volume_mounts=[pods.VolumeMount(name=VOLUME, mount_path=_FOLDER)],
        )

    @property
    def mount(self) -> pods.VolumeMount:
        """The volume in the training container."""
        return pods.VolumeMount(name=VOLUME, mount_path=_FOLDER, read_only=True)


def bringing(settings: TaskSettings) -> Bringing | None:
    """How the worker comes, or None when the task has none.

    Raises:
        UsageError: it is switched off and asked for, or nobody said where dlf's image is.
    """
    asked = _asked(settings)
    if settings.worker == "off" and asked:
        raise UsageError(
            f"--worker=off, but --{asked[0]} needs the worker", "leave one of the two out"
        )
    if settings.worker == "off" or (settings.worker == "auto" and not asked):
        return None
    if settings.worker not in {"auto", "image"}:
        return Bringing(settings.worker)
    if not settings.worker_image:
        raise UsageError(
            "it is not known which image `dlf worker` comes from",
            "give --worker_image=IMAGE OF DLF, or --worker=PATH IN THE TRAINING IMAGE",
        )
    return Bringing(f"{_FOLDER}/dlf", settings.worker_image)


def wrapped(settings: TaskSettings, program: str, command: Sequence[str]) -> list[str]:
    """The container's command with the worker before it."""
    words = []
    for field in msgspec.structs.fields(type(settings)):
        value = getattr(settings, field.name)
        if field.name in _SETTINGS and value != field.default:
            words.append(f"--{field.name}" if value is True else f"--{field.name}={_text(value)}")
    return [program, "worker", *words, "--", *command]


def refuse(settings: TaskSettings, instead: str) -> None:
    """For frameworks whose launcher starts the processes of all pods by itself.

    Raises:
        UsageError: a feature of the worker was asked for.
    """
    for name in _asked(settings):
        raise UsageError(f"--{name} is not for jobs that mpirun starts", instead)


def _asked(settings: TaskSettings) -> list[str]:
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(settings))}
    return [name for name in _FEATURES if getattr(settings, name) != defaults[name]]


def _text(value: object) -> str:
    return f"{value:.0f}s" if isinstance(value, float) else str(value)
