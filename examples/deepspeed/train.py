"""Data-parallel training with a partitioned optimizer (ZeRO stage 1).

With DeepSpeed installed, its engine trains on CPUs; without it, the same idea is spelled out with
the standard library: every rank keeps the optimizer's state of its own parameters only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
import torch_environment
from process_group import PATIENCE_SECONDS, wait_for_name

LEARNING_RATE, MOMENTUM = 0.3, 0.2


def main() -> None:
    """Train with what is installed."""
    try:
        import deepspeed  # noqa: F401
    except ModuleNotFoundError:
        train_by_hand()
    else:
        train_with_deepspeed()


def train_by_hand() -> None:
    """Gradient descent with momentum, where rank r owns parameters r, r + world size, ..."""
    group = torch_environment.join()
    rank, size = group.rank, group.world_size
    samples = regression.shard(rank, size)
    regression.greet(rank, size, len(samples))
    parameters, losses = [0.0] * len(regression.TRUE_PARAMETERS), []
    velocity = dict.fromkeys(range(rank, len(parameters), size), 0.0)  # the optimizer's state
    for epoch in range(regression.EPOCHS):
        local, loss = regression.gradient(parameters, samples)
        *total, loss, count = group.all_reduce([*local, loss, len(samples)])
        updated = [0.0] * len(parameters)
        for i in velocity:
            velocity[i] = MOMENTUM * velocity[i] + total[i] / count
            updated[i] = parameters[i] - LEARNING_RATE * velocity[i]
        parameters = group.all_reduce(updated)  # an all-gather: the others hold 0
        losses.append(loss / count)
        regression.report(rank, epoch, losses[-1])
    regression.finish(rank, losses, parameters, group.broadcast(parameters))


def train_with_deepspeed() -> None:
    """The same with DeepSpeed's engine."""
    import deepspeed
    import torch

    backend = f"DeepSpeed {deepspeed.__version__}, ZeRO stage 1, torch {torch.__version__}"
    regression.announce(backend)
    os.environ.setdefault("LOCAL_RANK", "0")  # else DeepSpeed looks for MPI
    wait_for_name(os.environ["MASTER_ADDR"], PATIENCE_SECONDS)
    deepspeed.init_distributed("gloo")
    rank, size = deepspeed.comm.get_rank(), deepspeed.comm.get_world_size()
    samples = regression.shard(rank, size)
    features = torch.tensor([x[:-1] for x, _ in samples])
    targets = torch.tensor([[y] for _, y in samples])
    regression.greet(rank, size, len(samples))

    torch.manual_seed(0)
    model = torch.nn.Linear(features.shape[1], 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    config = {
        "train_micro_batch_size_per_gpu": len(samples),
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,  # torch's SGD
    }
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    losses = []
    for epoch in range(regression.EPOCHS):
        loss = torch.nn.functional.mse_loss(engine(features), targets)
        engine.backward(loss)
        engine.step()
        total = loss.detach()
        deepspeed.comm.all_reduce(total)
        losses.append(total.item() / size)
        regression.report(rank, epoch, losses[-1])

    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    reference = parameters.clone()
    deepspeed.comm.broadcast(reference, src=0)
    deepspeed.comm.destroy_process_group()
    regression.finish(rank, losses, parameters.tolist(), reference.tolist())


if __name__ == "__main__":
    main()
