"""Data-parallel training: jax.distributed where JAX is installed, plain sockets elsewhere.

Every process holds its own part of one sharded array. The step is compiled for all processes
together, and XLA adds the all-reduce of the gradients.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel
import regression
from process_group import PATIENCE_SECONDS, ProcessGroup, wait_for_name


def main() -> None:
    """Train with what is installed; the operator has set the environment."""
    address, port = os.environ["COORDINATOR_ADDRESS"], int(os.environ["COORDINATOR_PORT"])
    rank, world_size = int(os.environ["PROCESS_ID"]), int(os.environ["NUM_PROCESSES"])
    try:
        import jax  # noqa: F401
    except ModuleNotFoundError:
        regression.announce("the standard library, all-reduce over sockets; python3 has no jax")
        with ProcessGroup.join(address, port, rank, world_size) as group:
            data_parallel.fit(group)
    else:
        train_with_jax(address, port, rank, world_size)


def train_with_jax(address: str, port: int, rank: int, world_size: int) -> None:
    """The same, as one writes it with arrays that are sharded over processes."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    regression.announce(f"jax {jax.__version__}, jax.distributed")
    jax.config.update("jax_platforms", "cpu")  # the example is for CPUs
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    wait_for_name(address, PATIENCE_SECONDS)
    jax.distributed.initialize(
        coordinator_address=f"{address}:{port}",
        num_processes=world_size,
        process_id=rank,
        initialization_timeout=int(PATIENCE_SECONDS),
    )

    shortest = len(regression.shard(world_size - 1, world_size))
    samples = regression.shard(rank, world_size)[:shortest]  # a sharded array has equal parts
    regression.greet(jax.process_index(), jax.process_count(), len(samples))
    by_process = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
    features = jax.make_array_from_process_local_data(
        by_process, np.array([x for x, _ in samples], np.float32)
    )
    targets = jax.make_array_from_process_local_data(
        by_process, np.array([y for _, y in samples], np.float32)
    )

    @jax.jit
    def step(weights: jax.Array, features: jax.Array, targets: jax.Array) -> list[jax.Array]:
        """Take one step of gradient descent; return the new weights and the loss before it."""

        def mean_squared_error(weights: jax.Array) -> jax.Array:
            return jnp.mean((features @ weights - targets) ** 2)

        loss, gradient = jax.value_and_grad(mean_squared_error)(weights)
        return [weights - 0.4 * gradient, loss]

    weights = jnp.zeros(features.shape[1])
    losses = []
    for epoch in range(regression.EPOCHS):
        weights, loss = step(weights, features, targets)
        losses.append(float(loss))
        regression.report(rank, epoch, losses[-1])

    parameters = np.asarray(weights.addressable_data(0))
    reference = multihost_utils.broadcast_one_to_all(parameters)
    regression.finish(rank, losses, parameters.tolist(), reference.tolist())
    jax.distributed.shutdown()


if __name__ == "__main__":
    try:
        main()
    except Exception:
        # At exit jax.distributed waits for all processes, and those wait for this one.
        traceback.print_exc()
        os._exit(1)
