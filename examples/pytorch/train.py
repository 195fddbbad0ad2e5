"""Data-parallel training: torch.distributed where torch is installed, plain sockets elsewhere.

Every rank holds its own part of the data; gradients are averaged over the ranks after each step, so
that all ranks keep the same parameters, which is verified at the end.
"""

from __future__ import annotations

import os
import sys
import warnings
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel
import regression
from process_group import PATIENCE_SECONDS, ProcessGroup, wait_for_name


def main() -> None:
    """Train with what is installed; the operator or torchrun has set the environment."""
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")  # torch alone is enough
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        regression.announce("the standard library, all-reduce over sockets; python3 has no torch")
        with ProcessGroup.from_environment() as group:
            data_parallel.fit(group)
    else:
        train_with_torch()


def train_with_torch() -> None:
    """The same, as one writes it with DistributedDataParallel."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    regression.announce(f"torch {torch.__version__}, torch.distributed with gloo")
    wait_for_name(os.environ["MASTER_ADDR"], PATIENCE_SECONDS)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
    rank, world_size = dist.get_rank(), dist.get_world_size()

    points = regression.shard(rank=0, world_size=1)  # the sampler deals them out
    features = torch.tensor([x[:-1] for x, _ in points])
    dataset = TensorDataset(features, torch.tensor([[y] for _, y in points]))
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=100, sampler=sampler)
    regression.greet(rank, world_size, len(sampler))

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(features.shape[1], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(regression.EPOCHS):
        sampler.set_epoch(epoch)
        epoch_loss = torch.zeros(())
        for batch, target in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(batch), target)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.detach() / len(loader)
        dist.all_reduce(epoch_loss)
        losses.append(epoch_loss.item() / world_size)
        regression.report(rank, epoch, losses[-1])

    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    reference = parameters.clone()
    dist.broadcast(reference, src=0)
    dist.destroy_process_group()
    regression.finish(rank, losses, parameters.tolist(), reference.tolist())


if __name__ == "__main__":
    main()
