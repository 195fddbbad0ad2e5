"""The problem that the examples train on: find the line behind noisy points.

The points are made here, from a fixed seed, so that every rank can take its own part without a data
set on disk, and so that two runs print the same losses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

TRUE_PARAMETERS = (2.0, -3.0, 0.5, 1.0)  # three weights and the bias
EPOCHS = 20
Sample = tuple[tuple[float, ...], float]


def shard(rank: int, world_size: int, samples: int = 1200) -> list[Sample]:
    """Return the samples that belong to one rank: (features with a trailing 1.0, target)."""
    source = random.Random(0)
    points: list[Sample] = []
    for _ in range(samples):
        features = (*(source.uniform(-1.0, 1.0) for _ in TRUE_PARAMETERS[:-1]), 1.0)
        points.append((features, dot(TRUE_PARAMETERS, features) + source.gauss(0.0, 0.01)))
    return points[rank::world_size]


def dot(parameters: Sequence[float], features: Sequence[float]) -> float:
    """Return the model's prediction."""
    return sum(p * x for p, x in zip(parameters, features, strict=True))


def gradient(parameters: Sequence[float], samples: Sequence[Sample]) -> tuple[list[float], float]:
    """Return the gradient of the squared error and the squared error, both summed over samples."""
    total, loss = [0.0] * len(parameters), 0.0
    for features, target in samples:
        error = dot(parameters, features) - target
        loss += error * error
        for i, x in enumerate(features):
            total[i] += 2.0 * error * x
    return total, loss


def announce(backend: str) -> None:
    """Say what trains, with its version; the first line, before anything can go wrong."""
    say(f"training with {backend}")


def greet(rank: int, world_size: int, samples: int) -> None:
    """Say which rank this is, and of how many."""
    say(f"rank {rank} of {world_size}: {samples} samples")


def report(rank: int, epoch: int, loss: float) -> None:
    """Print the mean loss over all ranks' samples, on rank 0 alone."""
    if rank == 0:
        say(f"epoch {epoch + 1:2}/{EPOCHS}  loss {loss:.6f}")


def finish(
    rank: int, losses: Sequence[float], parameters: Sequence[float], reference: Sequence[float]
) -> None:
    """Print the result, or end with code 1 unless training has worked.

    It has worked when the loss fell, the line was found, and this rank's parameters are, bit for
    bit, rank 0's, which are the `reference`.
    """
    shown = ", ".join(f"{p:.4f}" for p in parameters)
    if list(parameters) != list(reference):
        raise SystemExit(f"rank {rank}: parameters {shown} differ from rank 0's")
    if not losses[-1] < 0.01 * losses[0]:
        raise SystemExit(f"rank {rank}: the loss fell only from {losses[0]} to {losses[-1]}")
    if any(abs(p - t) > 0.05 for p, t in zip(parameters, TRUE_PARAMETERS, strict=True)):
        raise SystemExit(f"rank {rank}: trained to {shown}, not about {TRUE_PARAMETERS}")
    say(f"rank {rank}: done, parameters equal rank 0's: {shown}")


def say(line: str) -> None:
    """Print a line in one write, since ranks may share one output; PYTHONUNBUFFERED makes two."""
    print(f"{line}\n", end="", flush=True)
