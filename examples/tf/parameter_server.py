"""Asynchronous training with TensorFlow's ParameterServerStrategy: chief, servers and workers.

All of them start this script and learn their role from TF_CONFIG. Servers and workers serve until
the job has ended, which is when the chief has: it holds no data and hands out the steps.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
from process_group import PATIENCE_SECONDS, wait_for_name

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # the example is for CPUs
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
import tensorflow as tf

STEPS = 4  # of each epoch


def main() -> None:
    """Serve, or hand out steps until the line is found."""
    regression.announce(f"TensorFlow {tf.__version__}, ParameterServerStrategy")
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    regression.say(f"role {resolver.task_type}, index {resolver.task_id}")
    for role in cluster.jobs:
        for address in cluster.job_tasks(role):
            wait_for_name(address.rpartition(":")[0], PATIENCE_SECONDS)
    if resolver.task_type != "chief":
        server = tf.distribute.Server(
            cluster, job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
        )
        server.join()  # until the job is over, and this is stopped
    train(tf.distribute.ParameterServerStrategy(resolver), cluster.num_tasks("worker"))


def train(strategy: tf.distribute.ParameterServerStrategy, workers: int) -> None:
    """Let the workers take steps on the weights that the servers hold."""
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    samples = regression.shard(rank=0, world_size=1)
    regression.greet(0, 1, len(samples))
    regression.say(f"{workers} worker(s) take the steps")
    features = tf.constant([x for x, _ in samples])
    targets = tf.constant([[y] for _, y in samples])
    with strategy.scope():
        weights = tf.Variable(tf.zeros([features.shape[1], 1]))

    @tf.function
    def step() -> tf.Tensor:
        """Take one step of gradient descent; return the loss before it."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(features @ weights - targets))
        weights.assign_sub(0.2 * tape.gradient(loss, weights))
        return loss

    losses = []
    for epoch in range(regression.EPOCHS):
        taken = [coordinator.schedule(step) for _ in range(STEPS)]
        coordinator.join()
        losses.append(sum(float(each.fetch()) for each in taken) / STEPS)
        regression.report(0, epoch, losses[-1])
    found = weights.numpy().reshape(-1).tolist()
    regression.finish(0, losses, found, found)


if __name__ == "__main__":
    main()
