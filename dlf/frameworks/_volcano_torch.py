"""A Volcano Job for torch.distributed: what deepspeed, colossalai and megatron have in common."""

from collections.abc import Mapping

from dlf.frameworks import _volcano
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import with_prelude
from dlf.frameworks._torch import script_env, torchrun_env
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.manifest import Manifest
from dlf.manifest.pods import PodTemplate
from dlf.task.settings import TaskSettings


def job(
    settings: TaskSettings, kind: JobKind, suffix: str, prefix: str, roles: Mapping[str, int]
) -> Manifest:
    """A Volcano Job for torch: ranks count through the roles in their order, pod 0 is the master.

    Each pod gets the rendezvous of torch.distributed, and its role as VC_TASK_ROLE.
    """
    name = _volcano.name(prefix, settings, suffix, roles)
    nodes = sum(roles.values())
    master = _volcano.host(name, next(iter(roles)))
    env = script_env(nodes, master) | torchrun_env(settings, nodes, master)
    tasks: list[tuple[str, int, PodTemplate]] = []
    first = 0
    for role, count in roles.items():
        # The env plugin numbers the pods of each task from 0.
        prelude = (
            f'export RANK="${{RANK:-$(({first} + VC_TASK_INDEX))}}";'
            ' export PET_NODE_RANK="${PET_NODE_RANK:-$RANK}"'
        )
        command = with_prelude(prelude, settings.command)
        template = pod_template(
            settings, kind, name, "volcanojob", command, env=env | {"VC_TASK_ROLE": role}
        )
        tasks.append((role, count, template))
        first += count
    return _volcano.manifest(settings, kind, name, tasks)
