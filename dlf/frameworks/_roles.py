"""`--role`: CPU, memory and GPUs of one role, where they differ from those of the others.

A role that has amounts of its own gets the pods of a job in which all roles have them: what depends
on them, such as variables, node selectors and the number of processes, follows by itself.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from dlf.errors import UsageError
from dlf.frameworks._pod import accelerator_resource
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.volcano import VolcanoJobSpec
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import PodTemplate, Resources
from dlf.task.resources import RoleResources
from dlf.task.settings import TaskSettings

Render = Callable[[Any, JobKind, str], Manifest]


def render_with_roles(
    render: Render, settings: TaskSettings, kind: JobKind, suffix: str
) -> Manifest:
    """The resource, with the amounts of `--role`.

    Args:
        render: of the framework; does not know of `--role`.
        settings: of the task.
        kind: of the resource.
        suffix: ends the job's name.

    Raises:
        UsageError: the job has no such role, or the role gets no GPUs in any job.
    """
    manifest = render(settings, kind, suffix)
    for override in _merged(settings.role):
        roles = _templates(manifest)
        role = next((name for name in roles if name.lower() == override.role.lower()), None)
        if role is None:
            raise UsageError(
                f"--role={override.role!r} is not a role of this job",
                f"write one of {', '.join(roles)}",
            )
        changes: dict[str, Any] = dict(override.amounts)
        if override.gpu is not None:
            changes["gpu"] = msgspec.structs.replace(settings.gpu, count=override.gpu)
        own = msgspec.structs.replace(settings, **changes)
        alike = render(own, kind, suffix)
        template = _templates(alike)[role]
        resources = template.spec.containers[0].resources or Resources()
        if override.gpu and accelerator_resource(own) not in resources.limits:
            raise UsageError(
                f"--role='{role}:gpu={override.gpu}' is not possible: {role} gets no GPUs",
                "give them to the roles that train",
            )
        manifest = alike if len(roles) == 1 else _with_template(manifest, role, template)
    return manifest


def _merged(overrides: tuple[RoleResources, ...]) -> list[RoleResources]:
    """One for each role; what is written later wins."""
    merged: dict[str, RoleResources] = {}
    for each in overrides:
        before = merged.get(each.role.lower(), each)
        merged[each.role.lower()] = RoleResources(
            each.role,
            tuple((dict(before.amounts) | dict(each.amounts)).items()),
            before.gpu if each.gpu is None else each.gpu,
        )
    return list(merged.values())


def _templates(manifest: Manifest) -> dict[str, PodTemplate]:
    spec = manifest.spec
    if isinstance(spec, VolcanoJobSpec):
        return {task.name: task.template for task in spec.tasks}
    return {role: each.template for role, each in spec.replica_specs.items()}


def _with_template(manifest: Manifest, role: str, template: PodTemplate) -> Manifest:
    spec, replace = manifest.spec, msgspec.structs.replace
    if isinstance(spec, VolcanoJobSpec):
        tasks = [
            replace(task, template=template) if task.name == role else task for task in spec.tasks
        ]
        return replace(manifest, spec=replace(spec, tasks=tasks))
    spec.replica_specs[role] = replace(spec.replica_specs[role], template=template)
    return manifest
