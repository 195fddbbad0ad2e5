"""Data-parallel training in one process of a cluster that the variables MS_* describe.

These are the variables of MindSpore's dynamic cluster, which msrun sets as well: one scheduler
beside the workers, told apart by MS_ROLE. Without MindSpore, the workers train over plain sockets.
"""

from __future__ import annotations

import os

import data_parallel
import regression
from process_group import ProcessGroup


def train() -> None:
    """Train on this worker's part of the data, or schedule until the workers are done."""
    os.environ.setdefault("GLOG_v", "3")  # MindSpore reads it when imported: errors only
    try:
        import mindspore  # noqa: F401
    except ModuleNotFoundError:
        if os.environ["MS_ROLE"] == "MS_WORKER":
            train_with_sockets()
    else:
        train_with_mindspore()


def train_with_sockets() -> None:
    """Train with the standard library alone; worker 0 listens where the scheduler would."""
    regression.announce("the standard library, all-reduce over sockets; python3 has no mindspore")
    with ProcessGroup.join(
        os.environ["MS_SCHED_HOST"],
        int(os.environ["MS_SCHED_PORT"]),
        int(os.environ["MS_NODE_ID"]),
        int(os.environ["MS_WORKER_NUM"]),
    ) as group:
        data_parallel.fit(group)


def train_with_mindspore() -> None:
    """Train with MindSpore on CPUs; `init` keeps the scheduler until the workers are done."""
    import mindspore as ms
    from mindspore import communication, nn, ops

    regression.announce(f"MindSpore {ms.__version__}, DistributedGradReducer")
    ms.set_device("CPU")
    communication.init()
    if os.environ["MS_ROLE"] == "MS_SCHED":
        return
    rank, world_size = communication.get_rank(), communication.get_group_size()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    samples = regression.shard(rank, world_size)
    features = ms.Tensor([x[:-1] for x, _ in samples], ms.float32)
    targets = ms.Tensor([[y] for _, y in samples], ms.float32)
    regression.greet(rank, world_size, len(samples))

    ms.set_seed(0)
    model = nn.Dense(features.shape[1], 1)
    squared_error = nn.MSELoss()
    optimizer = nn.SGD(model.trainable_params(), learning_rate=0.4)
    reduce_gradients = nn.DistributedGradReducer(optimizer.parameters)
    all_reduce = ops.AllReduce()

    def forward() -> ms.Tensor:
        return squared_error(model(features), targets)

    value_and_gradients = ms.value_and_grad(forward, None, optimizer.parameters)
    losses = []
    for epoch in range(regression.EPOCHS):
        loss, gradients = value_and_gradients()
        optimizer(reduce_gradients(gradients))
        losses.append(float(all_reduce(loss)) / world_size)
        regression.report(rank, epoch, losses[-1])

    parameters = ops.concat([p.reshape(-1) for p in optimizer.parameters])
    reference = all_reduce(parameters if rank == 0 else ops.zeros_like(parameters))
    regression.finish(rank, losses, parameters.asnumpy().tolist(), reference.asnumpy().tolist())
