"""Data-parallel gradient descent over any group of ranks that can all-reduce."""

from __future__ import annotations

from common import regression
from common.process_group import ProcessGroup


def fit(group: ProcessGroup) -> None:
    """Train on this rank's samples with the gradient of all ranks' samples; verify the result."""
    samples = regression.shard(group.rank, group.world_size)
    regression.greet(group.rank, group.world_size, len(samples), group.backend)
    parameters, losses = [0.0] * len(regression.TRUE_PARAMETERS), []
    for epoch in range(regression.EPOCHS):
        local, loss = regression.gradient(parameters, samples)
        *total, loss, count = group.all_reduce([*local, loss, len(samples)])
        parameters = [p - 0.4 * g / count for p, g in zip(parameters, total, strict=True)]
        losses.append(loss / count)
        regression.report(group.rank, epoch, losses[-1])
    regression.finish(group.rank, losses, parameters, group.broadcast(parameters))
