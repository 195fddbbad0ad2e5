"""Synchronous data-parallel training with TensorFlow's MultiWorkerMirroredStrategy.

TF_CONFIG, which the operator sets, tells the workers of each other. A job with one worker gets no
TF_CONFIG; the strategy then trains in this process alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
from process_group import PATIENCE_SECONDS, wait_for_name

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # the example is for CPUs
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import tensorflow as tf


def main() -> None:
    """Train on this worker's part of the data."""
    regression.announce(f"TensorFlow {tf.__version__}, MultiWorkerMirroredStrategy")
    cluster = json.loads(os.environ.get("TF_CONFIG", "{}")).get("cluster", {})
    for worker in cluster.get("worker", []):
        wait_for_name(worker.rpartition(":")[0], PATIENCE_SECONDS)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = strategy.cluster_resolver.task_id or 0
    world_size = strategy.num_replicas_in_sync

    samples = regression.shard(rank, world_size)
    features = tf.constant([x for x, _ in samples])
    targets = tf.constant([[y] for _, y in samples])
    regression.greet(rank, world_size, len(samples))

    with strategy.scope():  # what each worker subtracts from the weights is averaged over workers
        weights = tf.Variable(
            tf.zeros([features.shape[1], 1]), aggregation=tf.VariableAggregation.MEAN
        )

    @tf.function
    def step() -> tf.Tensor:
        """Take one step of gradient descent on all workers; return the mean loss before it."""

        def replica_step() -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(features @ weights - targets))
            weights.assign_sub(0.4 * tape.gradient(loss, weights))
            return loss

        return strategy.reduce("MEAN", strategy.run(replica_step), axis=None)

    losses = []
    for epoch in range(regression.EPOCHS):
        losses.append(float(step()))
        regression.report(rank, epoch, losses[-1])

    @tf.function
    def all_weights() -> tf.Tensor:
        """Return every worker's weights, one row each."""
        return strategy.gather(strategy.run(lambda: tf.transpose(weights)), axis=0)

    copies = all_weights().numpy().tolist()
    regression.finish(rank, losses, copies[rank], copies[0])


if __name__ == "__main__":
    main()
