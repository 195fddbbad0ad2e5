"""Data-parallel training with Horovod and torch; where Horovod is missing, the same over plain MPI.

mpirun starts one process a slot, and Horovod finds its ranks through MPI.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel
import regression


def main() -> None:
    """Train with what is installed."""
    try:
        import horovod.torch  # noqa: F401
    except ModuleNotFoundError:
        from mpi_group import MpiGroup

        data_parallel.fit(MpiGroup())
    else:
        train_with_horovod()


def train_with_horovod() -> None:
    """Average the gradients by Horovod's optimizer; all ranks start from rank 0's parameters."""
    import horovod
    import horovod.torch as hvd
    import torch

    regression.announce(f"Horovod {horovod.__version__}, torch {torch.__version__}")
    hvd.init()
    rank, world_size = hvd.rank(), hvd.size()
    samples = regression.shard(rank, world_size)
    features = torch.tensor([x[:-1] for x, _ in samples])
    targets = torch.tensor([[y] for _, y in samples])
    regression.greet(rank, world_size, len(samples))

    torch.manual_seed(0)
    model = torch.nn.Linear(features.shape[1], 1)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.4), named_parameters=model.named_parameters()
    )
    losses = []
    for epoch in range(regression.EPOCHS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features), targets)
        loss.backward()
        optimizer.step()
        losses.append(hvd.allreduce(loss.detach(), name="loss").item())
        regression.report(rank, epoch, losses[-1])

    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    reference = hvd.broadcast(parameters, root_rank=0, name="parameters")
    hvd.shutdown()
    regression.finish(rank, losses, parameters.tolist(), reference.tolist())


if __name__ == "__main__":
    main()
