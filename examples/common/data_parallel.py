"""Data-parallel gradient descent over any group of ranks that can all-reduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import regression


class Group(Protocol):
    """What the training needs of the ranks; `process_group.ProcessGroup` is one."""

    rank: int
    world_size: int

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Return the element-wise sum of every rank's values, on every rank."""

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """Return rank 0's values, on every rank."""


def fit(group: Group) -> None:
    """Train on this rank's samples with the gradient of all ranks' samples; verify the result."""
    samples = regression.shard(group.rank, group.world_size)
    regression.greet(group.rank, group.world_size, len(samples))
    parameters, losses = [0.0] * len(regression.TRUE_PARAMETERS), []
    for epoch in range(regression.EPOCHS):
        local, loss = regression.gradient(parameters, samples)
        *total, loss, count = group.all_reduce([*local, loss, len(samples)])
        parameters = [p - 0.4 * g / count for p, g in zip(parameters, total, strict=True)]
        losses.append(loss / count)
        regression.report(group.rank, epoch, losses[-1])
    regression.finish(group.rank, losses, parameters, group.broadcast(parameters))
