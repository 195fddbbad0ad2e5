"""Tensor-parallel training as Megatron does it, with a model of four parameters.

Every rank sees every sample but owns only some columns of the weight matrix: a forward pass adds up
the ranks' partial products by an all-reduce (Megatron's RowParallelLinear), and the gradient of a
rank's own columns needs no communication. Megatron-LM itself is not used: it needs a GPU.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
import torch_environment


def main() -> None:
    """Train this rank's columns; `--cluster` has given the pod its role."""
    group = torch_environment.join()
    rank, size = group.rank, group.world_size
    columns = range(rank, len(regression.TRUE_PARAMETERS), size)
    samples = regression.shard(rank=0, world_size=1)
    regression.greet(rank, size, len(samples))
    role = os.environ.get("VC_TASK_ROLE", "alone")
    regression.say(f"rank {rank}: role {role}, columns {list(columns)}")

    own, losses = dict.fromkeys(columns, 0.0), []
    for epoch in range(regression.EPOCHS):
        partial = [sum(own[c] * features[c] for c in columns) for features, _ in samples]
        predictions = group.all_reduce(partial)
        errors = [p - target for p, (_, target) in zip(predictions, samples, strict=True)]
        for c in columns:
            slope = sum(2.0 * e * x[c] for e, (x, _) in zip(errors, samples, strict=True))
            own[c] -= 0.4 * slope / len(samples)
        losses.append(sum(e * e for e in errors) / len(samples))
        regression.report(rank, epoch, losses[-1])

    whole = [own.get(c, 0.0) for c in range(len(regression.TRUE_PARAMETERS))]
    parameters = group.all_reduce(whole)
    regression.finish(rank, losses, parameters, group.broadcast(parameters))


if __name__ == "__main__":
    main()
