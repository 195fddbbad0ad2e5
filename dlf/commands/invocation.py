"""`dlf FRAMEWORK [flags]`, parsed: what `train` and `check` work on."""

from collections.abc import Mapping, Sequence

import msgspec

from dlf.commands.arguments import TextOrJson
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


class CheckRun(Run, frozen=True, kw_only=True):
    """`Run` as `dlf check` has it."""

    output: TextOrJson = "text"


def parse(
    framework: Framework,
    argv: Sequence[str],
    env: Mapping[str, str],
    run: type[Run] = Run,
) -> Invocation:
    """The command as values; `run` is the struct of the flags that say what to do.

    Raises:
        UsageError: one line that says what is wrong.
    """
    groups = (run if group is Run else group for _, group in GROUPS)
    arguments = split(argv, framework.settings, *groups)
    if arguments.positional:
        raise UsageError(f"unexpected argument {arguments.positional[0]!r}", "flags begin with --")
    return Invocation(
        framework=framework,
        task=load(framework.settings, arguments, env),
        run=load(run, arguments, env),
        lifecycle=load(Lifecycle, arguments, env),
        logs=load(Logs, arguments, env),
        connection=load(Connection, arguments, env),
        arguments=arguments,
    )


_OF_THE_RUN = tuple(s.name for group in (Lifecycle, Logs) for s in settings_of(group))
_OF_THE_CLUSTER = ("kubeconfig", "context", "api_outage", "verbose")
_OF_PODS = (
    *("image", "cpu", "memory", "role", "gpu_resource", "rdma", "rdma_resource", "node_selector"),
    *("volumes", "toleration", "shm_size", "service_account", "host_network", "priority_class"),
    *("queue", "ttl", "inject_sidecars", "namespace", "output", "on_existing", "on_exit"),
    *("no_owner", "start_timeout", "hang_timeout", "detach", "max_log_streams", "container"),
)
# How the command goes on -> the settings that have no meaning there.
_WITHOUT_EFFECT = {
    "with --dry-run": (*_OF_THE_RUN, *_OF_THE_CLUSTER, "detach"),
    "with --dry-run=server": (*_OF_THE_RUN, "detach"),
    "with --detach": ("output", *(each for each in _OF_THE_RUN if each != "on_existing")),
    "with --runtime local": (*_OF_PODS, *_OF_THE_CLUSTER),
    "without --dry-run": ("output",),
    "in dlf check": (*_OF_THE_RUN, "runtime", "dry_run", "detach"),
}


def ignored_flags(invocation: Invocation, *, check: bool = False) -> str:
    """One line about the flags on the command line that have no effect, or "".

    Variables are not mentioned: the platform sets them for every command.
    """
    run = invocation.run
    if check:
        how = "in dlf check"
    elif run.dry_run:
        how = "with --dry-run" + ("=server" if run.dry_run == "server" else "")
    elif run.runtime == "local":
        how = "with --runtime local"
    else:
        how = "with --detach" if run.detach else "without --dry-run"
    without_effect = set(_WITHOUT_EFFECT[how])
    if any(each.gpu is not None for each in invocation.task.role):  # which pods see, here as there
        without_effect.discard("role")
    given = invocation.arguments.flags
    useless = [texts[-1][0] for name, texts in given.items() if name in without_effect]
    if not useless:
        return ""
    return f"{', '.join(useless)} {'has' if len(useless) == 1 else 'have'} no effect {how}"


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
