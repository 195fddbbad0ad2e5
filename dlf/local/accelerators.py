"""Which accelerators each pod sees: its own, as on Kubernetes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

# Device files, one for each accelerator, and the variable from which the vendor's runtime takes the
# list.
_VENDORS = (("nvidia", "CUDA_VISIBLE_DEVICES"), ("davinci", "ASCEND_RT_VISIBLE_DEVICES"))


class Accelerators(NamedTuple):
    """The accelerators of one vendor on this machine.

    Attributes:
        variable: the environment variable that selects accelerators.
        names: what the variable may contain: indexes, or UUIDs.
    """

    variable: str
    names: tuple[str, ...]


def present(devices: Iterable[str], env: Mapping[str, str]) -> Accelerators | None:
    """The accelerators that this process may use; None when it sees none.

    Args:
        devices: names of the files in /dev.
        env: an environment that already selects accelerators leaves no others.
    """
    files = list(devices)
    for vendor, variable in _VENDORS:
        numbers = (name.removeprefix(vendor) for name in files if name.startswith(vendor))
        indexes = sorted(int(number) for number in numbers if number.isdecimal())
        names = tuple(map(str, indexes))
        if variable in env and names:
            names = tuple(filter(None, (name.strip() for name in env[variable].split(","))))
        if names:
            return Accelerators(variable, names)
    return None


def assign(machine: Accelerators, wanted: Sequence[int]) -> list[dict[str, str]]:
    """Environment variables for each pod: its own accelerators, shared ones if too few.

    Args:
        machine: the accelerators of this machine.
        wanted: how many accelerators each pod asks for; -1 for all of them.
    """
    variables = []
    first = 0
    for count in wanted:
        number = min(count, len(machine.names)) if count >= 0 else len(machine.names)
        own = [machine.names[(first + index) % len(machine.names)] for index in range(number)]
        first += max(count, 0)
        variables.append({machine.variable: ",".join(own)} if count else {})
    return variables
