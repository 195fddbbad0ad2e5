"""When a job is over, and how: what its operator would has_succeeded, as data."""

from collections.abc import Mapping

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of an operator, over pods.

    Attributes:
        succeed: the job has succeeded as soon as all pods of one of these groups have.
        fatal: the job has failed as soon as one of these pods has.
        restarts: how often containers are restarted in place, all pods together.
        attempts: how often the whole job is started.
    """

    succeed: tuple[frozenset[str], ...]
    fatal: frozenset[str]
    restarts: int = 0
    attempts: int = 1


def has_succeeded(rules: Rules, codes: Mapping[str, int], pods: int) -> bool | None:
    """Whether the job has succeeded (True), failed (False), or goes on (None).

    Args:
        rules: of the operator.
        codes: exit codes of the pods that have ended, by name.
        pods: how many pods there are.
    """
    if any(code and pod in rules.fatal for pod, code in codes.items()):
        return False
    if any(all(codes.get(pod) == 0 for pod in group) for group in rules.succeed):
        return True
    return False if len(codes) == pods else None
