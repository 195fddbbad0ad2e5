"""Synchronous data-parallel training with MXNet's parameter server (dist_sync).

Scheduler, servers and workers all start this script and learn their role from DMLC_ROLE. In the
first two, `import mxnet` serves until the workers have finished and then ends the process.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import regression
from process_group import PATIENCE_SECONDS, wait_for_name

PARAMETERS = 100  # a key in the store; the trainer counts the model's from 0


def main() -> None:
    """Serve, or train on this worker's part of the data."""
    role = os.environ.get("DMLC_ROLE", "none; start this script with dlf mxnet")
    regression.say(f"role {role}, {os.environ.get('DMLC_NUM_SERVER', '0')} server(s)")
    if int(os.environ.get("DMLC_NUM_SERVER", "0")) < 1:
        raise SystemExit("dist_sync keeps the parameters on servers: add --num_ps 1")
    wait_for_name(os.environ["DMLC_PS_ROOT_URI"], PATIENCE_SECONDS)  # ps-lite aborts otherwise
    import mxnet as mx  # the scheduler and the servers do not come back from here

    regression.announce(f"MXNet {mx.__version__}, dist_sync")
    store = mx.kv.create("dist_sync")
    samples = regression.shard(store.rank, store.num_workers)
    regression.greet(store.rank, store.num_workers, len(samples))
    features = mx.nd.array([x[:-1] for x, _ in samples])
    targets = mx.nd.array([[y] for _, y in samples])

    model = mx.gluon.nn.Dense(1, in_units=features.shape[1])
    model.initialize()
    squared_error = mx.gluon.loss.L2Loss()
    trainer = mx.gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.8}, kvstore=store)
    losses = []
    for epoch in range(regression.EPOCHS):
        with mx.autograd.record():
            loss = squared_error(model(features), targets)
        loss.backward()
        trainer.step(len(samples) * store.num_workers)  # the servers sum the gradients and update
        losses.append(loss.mean().asscalar())
        regression.report(store.rank, epoch, losses[-1])

    parameters = mx.nd.concat(model.weight.data().reshape(-1), model.bias.data(), dim=0)
    reference = mx.nd.zeros_like(parameters)
    store.init(PARAMETERS, parameters)  # keeps what worker 0 gives
    store.pull(PARAMETERS, out=reference)
    regression.finish(
        store.rank, losses, parameters.asnumpy().tolist(), reference.asnumpy().tolist()
    )


if __name__ == "__main__":
    try:
        main()
    except Exception:
        # At exit ps-lite waits for all workers, and those wait for this one.
        traceback.print_exc()
        os._exit(1)
