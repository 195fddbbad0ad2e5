"""Tensor-parallel training as Megatron does it, with a model of four parameters.

Every rank sees every sample but owns only some columns of the weight matrix: a forward pass adds up
the ranks' partial products by an all-reduce, and the gradient of a rank's own columns needs no
communication. With megatron-core installed its RowParallelLinear does that; without it, the same is
spelled out.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
import torch_environment
from process_group import PATIENCE_SECONDS, wait_for_name


def main() -> None:
    """Train with what is installed; `--cluster` has given the pod its role."""
    try:
        import megatron.core  # noqa: F401
    except ModuleNotFoundError:
        train_by_hand()
    else:
        train_with_megatron()


def train_by_hand() -> None:
    """Gradient descent, where rank r owns columns r, r + world size, ..."""
    group = torch_environment.join()
    rank, size = group.rank, group.world_size
    columns = range(rank, len(regression.TRUE_PARAMETERS), size)
    samples = regression.shard(rank=0, world_size=1)
    greet(rank, size, len(samples), list(columns))

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


def train_with_megatron() -> None:
    """The same with megatron-core, on CPUs; each rank owns columns that stand together."""
    import megatron.core
    import torch
    import torch.distributed as dist
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import RowParallelLinear
    from megatron.core.transformer import TransformerConfig

    regression.announce(f"megatron-core {megatron.core.__version__}, torch {torch.__version__}")
    wait_for_name(os.environ["MASTER_ADDR"], PATIENCE_SECONDS)
    dist.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
    rank, size = dist.get_rank(), dist.get_world_size()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=size)

    parameters = len(regression.TRUE_PARAMETERS)
    own = -(-parameters // size)  # Megatron wants as many columns on each rank: the rest are 0
    samples = regression.shard(rank=0, world_size=1)
    columns = range(rank * own, min((rank + 1) * own, parameters))
    greet(rank, size, len(samples), list(columns))
    features = torch.tensor([[*x, *[0.0] * (own * size - parameters)] for x, _ in samples])
    targets = torch.tensor([[y] for _, y in samples])
    model = RowParallelLinear(
        own * size,
        1,
        config=TransformerConfig(
            num_layers=1,
            hidden_size=own * size,
            num_attention_heads=size,
            tensor_model_parallel_size=size,
            use_cpu_initialization=True,
            gradient_accumulation_fusion=False,  # a CUDA extension
        ),
        init_method=torch.nn.init.zeros_,
        bias=False,  # the last column
        input_is_parallel=False,
        skip_bias_add=False,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    losses = []
    for epoch in range(regression.EPOCHS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(features)[0], targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        regression.report(rank, epoch, losses[-1])

    parts = [torch.zeros(1, own) for _ in range(size)]
    dist.all_gather(parts, model.weight.detach())
    whole = torch.cat(parts, dim=1)[0, :parameters]
    reference = whole.clone()
    dist.broadcast(reference, src=0)
    dist.destroy_process_group()
    regression.finish(rank, losses, whole.tolist(), reference.tolist())


def greet(rank: int, size: int, samples: int, columns: list[int]) -> None:
    """Say which rank this is, in which role, and what it owns."""
    regression.greet(rank, size, samples)
    role = os.environ.get("VC_TASK_ROLE", "alone")
    regression.say(f"rank {rank}: role {role}, columns {columns}")


if __name__ == "__main__":
    main()
