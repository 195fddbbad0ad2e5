"""Data-parallel training with paddle.distributed, under `python -m paddle.distributed.launch`.

The launcher meets its peers at PADDLE_MASTER, which the operator sets, and gives this script the
rank of its pod, which dlf sets.
"""

from __future__ import annotations

import sys
from pathlib import Path

import paddle
import paddle.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression


def main() -> None:
    """Train on this rank's part of the data."""
    regression.announce(f"Paddle {paddle.__version__}, DataParallel")
    paddle.set_device("cpu")
    dist.init_parallel_env()
    rank, world_size = dist.get_rank(), dist.get_world_size()
    samples = regression.shard(rank, world_size)
    features = paddle.to_tensor([x[:-1] for x, _ in samples])
    targets = paddle.to_tensor([[y] for _, y in samples])
    regression.greet(rank, world_size, len(samples))

    paddle.seed(0)
    linear = paddle.nn.Linear(features.shape[1], 1)
    model = paddle.DataParallel(linear)
    optimizer = paddle.optimizer.SGD(learning_rate=0.4, parameters=model.parameters())
    losses = []
    for epoch in range(regression.EPOCHS):
        loss = paddle.nn.functional.mse_loss(model(features), targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total = loss.detach()
        dist.all_reduce(total)
        losses.append(float(total) / world_size)
        regression.report(rank, epoch, losses[-1])

    parameters = paddle.concat([linear.weight.reshape([-1]), linear.bias]).detach()
    reference = parameters.clone()
    dist.broadcast(reference, src=0)
    regression.finish(rank, losses, parameters.tolist(), reference.tolist())


if __name__ == "__main__":
    main()
