"""Data-parallel training: torch.distributed where torch is installed, plain sockets elsewhere.

Every rank holds its own part of the data; gradients are averaged over the ranks after each step, so
that all ranks keep the same parameters, which is verified at the end.
"""

from __future__ import annotations

import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import regression
from common.process_group import ProcessGroup, wait_for_name

EPOCHS = 20
PATIENCE_SECONDS = 600.0  # how long the other pods may take to start


def main() -> None:
    """Train with what is installed; the operator or torchrun has set the environment."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        train_with_sockets()
    else:
        train_with_torch()


def train_with_sockets() -> None:
    """Gradient descent on all ranks' data with the standard library alone."""
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    address = os.environ.get("MASTER_ADDR", "127.0.0.1")
    port = int(os.environ.get("MASTER_PORT", "23456"))
    samples = regression.shard(rank, world_size)
    with ProcessGroup.join(address, port, rank, world_size, PATIENCE_SECONDS) as group:
        greet(rank, world_size, len(samples), group.backend)
        parameters, losses = [0.0] * len(regression.TRUE_PARAMETERS), []
        for epoch in range(EPOCHS):
            local, loss = regression.gradient(parameters, samples)
            *total, loss, count = group.all_reduce([*local, loss, len(samples)])
            parameters = [p - 0.4 * g / count for p, g in zip(parameters, total, strict=True)]
            losses.append(loss / count)
            report(rank, epoch, losses[-1])
        if parameters != group.broadcast(parameters):
            raise SystemExit(f"rank {rank}: parameters differ from rank 0's")
    finish(rank, losses, parameters)


def train_with_torch() -> None:
    """The same, as one writes it with DistributedDataParallel."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    if "MASTER_ADDR" in os.environ:
        wait_for_name(os.environ["MASTER_ADDR"], PATIENCE_SECONDS)
    else:  # one process, started by hand
        os.environ |= {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "0",
            "RANK": "0",
            "WORLD_SIZE": "1",
        }
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
    rank, world_size = dist.get_rank(), dist.get_world_size()

    points = regression.shard(0, 1)
    features = torch.tensor([x[:-1] for x, _ in points])
    dataset = TensorDataset(features, torch.tensor([[y] for _, y in points]))
    sampler = DistributedSampler(dataset, seed=0)
    loader = DataLoader(dataset, batch_size=100, sampler=sampler)
    greet(rank, world_size, len(sampler), f"torch {torch.__version__}, torch.distributed with gloo")

    torch.manual_seed(rank)  # DDP starts all ranks from rank 0's parameters
    model = DistributedDataParallel(torch.nn.Linear(features.shape[1], 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(EPOCHS):
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
        report(rank, epoch, losses[-1])

    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    reference = parameters.clone()
    dist.broadcast(reference, src=0)
    if not torch.equal(parameters, reference):
        raise SystemExit(f"rank {rank}: parameters differ from rank 0's")
    dist.destroy_process_group()
    finish(rank, losses, parameters.tolist())


def greet(rank: int, world_size: int, samples: int, backend: str) -> None:
    """Every rank says once who it is and what it trains with."""
    print(
        f"rank {rank} of {world_size} on {socket.gethostname()}: {samples} samples; {backend}",
        flush=True,
    )


def report(rank: int, epoch: int, loss: float) -> None:
    """Rank 0 alone prints the loss over all ranks' data."""
    if rank == 0:
        print(f"epoch {epoch + 1:2}/{EPOCHS}  loss {loss:.6f}", flush=True)


def finish(rank: int, losses: list[float], parameters: list[float]) -> None:
    """End with code 1 unless training worked; every rank prints the parameters that all share."""
    regression.check_learned(losses, parameters)
    shown = ", ".join(f"{p:.4f}" for p in parameters)
    print(f"rank {rank}: done, same parameters on all ranks: {shown}", flush=True)


if __name__ == "__main__":
    main()
