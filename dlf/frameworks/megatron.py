"""megatron: a Volcano Job with the roles of `--cluster`."""

import re
from typing import Annotated

from dlf.frameworks import _volcano_torch
from dlf.frameworks.framework import Framework
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag
from dlf.task.settings import TaskSettings

_ROLE = re.compile(r"([a-z]([-a-z0-9]{0,18}[a-z0-9])?)\s*[=:]\s*([0-9]+)")


def parse_cluster(text: str) -> tuple[tuple[str, int], ...]:
    """Roles and their replicas: `role=n` or `role:n`, one a line or separated by `,` or `;`.

    Raises:
        ValueError: for another form, a role named twice, and a role without replicas.
    """
    replicas = scalars.count(1)
    roles: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in re.split(r"[,;\n]", text))):
        form = _ROLE.fullmatch(entry)
        if not form:
            raise ValueError(
                f"contains {entry!r}, which is not a role and its replicas; write role=n, such as"
                " worker=3, the role of at most 20 letters a-z, digits and -"
            )
        if form[1] in roles:
            raise ValueError(f"names the role {form[1]!r} twice; write each role once")
        try:
            roles[form[1]] = replicas(form[3])
        except ValueError as error:
            raise ValueError(f"contains {entry!r}, which is not valid; {error}") from None
    if not roles:
        raise ValueError("write role=n, such as worker=3")
    return tuple(roles.items())


class MegatronSettings(TaskSettings, frozen=True, kw_only=True):
    """The flags of megatron."""

    cluster: Annotated[
        tuple[tuple[str, int], ...],
        Flag(
            "roles, `role=n` one a line or separated by commas; the first is rank 0",
            parse_cluster,
            metavar="ROLES",
        ),
    ] = (("worker", 3),)


def render(settings: MegatronSettings, kind: JobKind, suffix: str) -> Manifest:
    """Render a Volcano Job with one task for each role."""
    return _volcano_torch.job(settings, kind, suffix, "megatron", dict(settings.cluster))


FRAMEWORK = Framework(
    name="megatron",
    settings=MegatronSettings,
    kinds=(VOLCANO_JOB,),
    render=render,
)
