"""`dlf FRAMEWORK [flags]`, parsed: what `train` and `check` work on."""

from collections.abc import Mapping, Sequence

import msgspec

from dlf.errors import UsageError
from dlf.frameworks.framework import Framework
from dlf.task.flag import settings_of
from dlf.task.load import Arguments, load, split
from dlf.task.settings import Connection, Lifecycle, Logs, Run, TaskSettings

GROUPS = (
    ("Where and how to run", Run),
    ("Earlier jobs, stops, time limits", Lifecycle),
    ("Logs", Logs),
    ("Cluster", Connection),
)
"""The flags that every framework has beside its own."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed command."""

    framework: Framework
    task: TaskSettings
    run: Run
    lifecycle: Lifecycle
    logs: Logs
    connection: Connection
    arguments: Arguments


def parse(framework: Framework, argv: Sequence[str], env: Mapping[str, str]) -> Invocation:
    """The command as values.

    Raises:
        UsageError: one line that says what is wrong.
    """
    arguments = split(argv, framework.settings, *(group for _, group in GROUPS))
    if arguments.positional:
        raise UsageError(f"unexpected argument {arguments.positional[0]!r}", "flags begin with --")
    return Invocation(
        framework=framework,
        task=load(framework.settings, arguments, env),
        run=load(Run, arguments, env),
        lifecycle=load(Lifecycle, arguments, env),
        logs=load(Logs, arguments, env),
        connection=load(Connection, arguments, env),
        arguments=arguments,
    )


def require_image(invocation: Invocation, env: Mapping[str, str]) -> None:
    """Refuse a task without an image that can train.

    The platform sets KFJ_TASK_IMAGES to the image of the launcher's own pod. In dlf's own image,
    which sets DLF_LAUNCHER_IMAGE, that is an image with nothing in it but dlf.

    Raises:
        UsageError: there is no image, or it is dlf's own.
    """
    setting = next(s for s in settings_of(invocation.framework.settings) if s.name == "image")
    image, platform = invocation.task.image, setting.flag.variable
    if not image:
        raise UsageError(
            "there is no image to train in", f"give {setting.option}, or set {platform}"
        )
    own_variable = f"DLF_{setting.key.upper()}"
    explicit = any(text.strip() for _, text in invocation.arguments.flags.get("image", []))
    if env.get("DLF_LAUNCHER_IMAGE") and not explicit and not env.get(own_variable, "").strip():
        raise UsageError(
            f"{platform}={image!r} is the image of this launcher, which holds nothing but dlf",
            f"give {setting.option} (or {own_variable}), the image with your training code",
        )
