"""What a framework is to the rest of dlf: one record."""

from collections.abc import Callable
from typing import Any

import msgspec

from dlf.errors import UsageError
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest
from dlf.task.settings import TaskSettings


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """One way to train, as `dlf NAME`.

    Attributes:
        name: the command.
        settings: the struct of its flags.
        kinds: the resources it can be rendered as, the preferred one first; the cluster decides.
        render: `render(settings, kind, suffix)`, pure and without `--role`; see `manifest`.
        leader: the role whose pod 0 decides the job; "" leaves the decision to the operator.
    """

    name: str
    settings: type[TaskSettings]
    kinds: tuple[JobKind, ...]
    render: Callable[[Any, JobKind, str], Manifest]
    leader: str = ""

    def manifest(self, settings: TaskSettings, kind: JobKind, suffix: str) -> Manifest:
        """The resource of a task.

        Args:
            settings: of the task, an instance of `self.settings`.
            kind: one of `self.kinds`.
            suffix: ends the job's name.

        Raises:
            UsageError: the settings cannot be rendered.
        """
        if not settings.role:
            return self.render(settings, kind, suffix)
        from dlf.frameworks._roles import render_with_roles  # few jobs need it

        return render_with_roles(self.render, settings, kind, suffix)


_GROUPS = {"kubeflow": "kubeflow.org", "volcano": "batch.volcano.sh"}


def candidates(framework: Framework, backend: str) -> tuple[JobKind, ...]:
    """The kinds that `--backend` allows, the preferred one first.

    Raises:
        UsageError: it allows none.
    """
    group = _GROUPS.get(backend)
    kinds = tuple(kind for kind in framework.kinds if group in {None, kind.group})
    if not kinds:
        raise UsageError(f"--backend={backend!r} is not possible for {framework.name}; write auto")
    return kinds
