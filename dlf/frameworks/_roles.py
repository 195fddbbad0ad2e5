"""`--role`: the CPU and memory of one role, where they differ from those of the others."""

from collections.abc import Iterable

import msgspec

from dlf.errors import UsageError
from dlf.manifest.pods import PodTemplate, Resources
from dlf.task.resources import RoleResources


def with_role_resources(
    overrides: Iterable[RoleResources], templates: dict[str, PodTemplate]
) -> dict[str, PodTemplate]:
    """The pod templates, by role, with the amounts that the overrides name.

    Raises:
        UsageError: the job has no such role.
    """
    changed = dict(templates)
    for override in overrides:
        role = next((name for name in changed if name.lower() == override.role.lower()), None)
        if role is None:
            raise UsageError(
                f"--role={override.role!r} is not a role of this job",
                f"write one of {', '.join(changed)}",
            )
        changed[role] = _changed(changed[role], override)
    return changed


def _changed(template: PodTemplate, override: RoleResources) -> PodTemplate:
    main, *others = template.spec.containers
    resources = main.resources or Resources()
    amounts = dict(override.amounts)
    main = msgspec.structs.replace(
        main,
        resources=Resources(
            requests=resources.requests | {name: each.request for name, each in amounts.items()},
            limits=resources.limits | {name: each.limit for name, each in amounts.items()},
        ),
    )
    spec = msgspec.structs.replace(template.spec, containers=[main, *others])
    return msgspec.structs.replace(template, spec=spec)
