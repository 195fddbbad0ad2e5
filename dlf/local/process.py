"""One process for each pod, with its command and variables expanded as kubelet expands them."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from dlf.manifest.jobs.kind import Replica
from dlf.manifest.jobs.kubeflow import REPLICA_INDEX_FIELD
from dlf.manifest.pods import EnvVar

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")


class PodProcess(msgspec.Struct, frozen=True, kw_only=True):
    """One process that stands for a pod.

    Attributes:
        pod: name of the pod.
        role: its role, in lower case.
        rank: global rank, or None for a launcher, which starts ranks and has none.
        container: name of the container.
        argv: the container's command.
        programs: what has to be on the PATH.
        env: the container's variables and the operator's, for this machine.
        accelerators: accelerators that it asks for; -1 for all.
    """

    pod: str
    role: str
    rank: int | None
    container: str
    argv: tuple[str, ...]
    programs: tuple[str, ...]
    env: dict[str, str]
    accelerators: int = 0


def replicas(job: str, roles: Mapping[str, int]) -> list[Replica]:
    """All pods of a job, in the order of ranks."""
    return [Replica(job, roles, role, index) for role in roles for index in range(roles[role])]


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with `$(NAME)` replaced by the variable and `$$` by `$`.

    A name that is not there is left as it is written, which is what keeps the command
    substitutions of a shell.
    """

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        return "$" if name is None else variables.get(name, reference[0])

    return _REFERENCE.sub(value, text)


def expand_all(declared: Iterable[EnvVar]) -> dict[str, str]:
    """The variables of a container that have a value; each may refer to those before it."""
    variables: dict[str, str] = {}
    for each in declared:
        if not each.value_from:
            variables[each.name] = expand(each.value or "", variables)
    return variables


def field_values(declared: Iterable[EnvVar], replica: Replica) -> dict[str, str]:
    """The variables of a container that are fields of its pod: its name, its number in its role."""
    fields = {"metadata.name": replica.pod, REPLICA_INDEX_FIELD: str(replica.index)}
    return {
        each.name: fields[each.value_from.field_ref.field_path]
        for each in declared
        if each.value_from
    }
