"""Follows the logs of the load generator's pods with dlf's own parts.

python -m bench.follow KUBECONFIG
"""

import asyncio
import sys
from contextlib import aclosing

from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.kube.follow import Change, follow
from dlf.logs.mux import Multiplexer
from dlf.logs.options import LogOptions
from dlf.logs.writer import Writer
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod


def note(text: str) -> None:
    print(text, file=sys.stderr)


async def main(kubeconfig: str) -> None:
    """Until killed."""
    writer = Writer(1)
    config = load_config({}, kubeconfig=kubeconfig)
    async with KubeClient(config, notice=note) as client:
        mux = Multiplexer(client, writer, LogOptions(), note)
        steps = follow(client, POD, "bench", Pod, label_selector="job=bench")
        async with aclosing(steps):
            async for step in steps:
                for pod in [step.object] if isinstance(step, Change) else step.items:
                    mux.observe(pod, "worker", None)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
