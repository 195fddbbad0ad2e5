"""Which accelerators each pod sees: its own, as on Kubernetes."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

# Device files, one for each card, and the variable that the vendor's runtime takes the list from.
_VENDORS = (("nvidia", "CUDA_VISIBLE_DEVICES"), ("davinci", "ASCEND_RT_VISIBLE_DEVICES"))


class Cards(msgspec.Struct, frozen=True):
    """The cards of one vendor on this machine.

    Attributes:
        variable: the environment variable that selects cards.
        names: what the variable may contain: indexes, or UUIDs.
    """

    variable: str
    names: tuple[str, ...]


def present(devices: Iterable[str], env: Mapping[str, str]) -> Cards | None:
    """The cards that this process may use; None when it sees none.

    Args:
        devices: names of the files in /dev.
        env: an environment that already selects cards leaves no others.
    """
    files = list(devices)
    for vendor, variable in _VENDORS:
        numbers = (name.removeprefix(vendor) for name in files if name.startswith(vendor))
        indexes = sorted(int(number) for number in numbers if number.isdecimal())
        names = tuple(map(str, indexes))
        if variable in env and names:
            names = tuple(filter(None, (name.strip() for name in env[variable].split(","))))
        if names:
            return Cards(variable, names)
    return None


def assign(cards: Cards, wanted: Sequence[int]) -> list[dict[str, str]]:
    """Environment variables for each pod: cards of its own while there are enough, else shared.

    Args:
        cards: of this machine.
        wanted: how many cards each pod asks for; -1 for all of them.
    """
    variables = []
    first = 0
    for count in wanted:
        number = min(count, len(cards.names)) if count >= 0 else len(cards.names)
        own = [cards.names[(first + index) % len(cards.names)] for index in range(number)]
        first += max(count, 0)
        variables.append({cards.variable: ",".join(own)} if count else {})
    return variables
