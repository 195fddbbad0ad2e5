"""The fake API server as a process of its own; what it does is tested by all who use it."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE

from owned_process import OwnedProcess
from waiting import PATIENCE

from dlf.kube.client import KubeClient
from dlf.kube.config import load_config
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod


def test_fake_api_runs_as_a_process(tmp_path: Path) -> None:
    """It prints its kubeconfig when it is ready, and ends on SIGTERM."""
    process = OwnedProcess(
        [sys.executable, "-m", "fake_api", str(tmp_path)],
        stdout=PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    with process:
        assert process.stdout is not None
        path = process.stdout.readline().strip()

        async def ask() -> None:
            async with KubeClient(load_config({}, kubeconfig=path)) as client:
                assert ([], "1000") == await client.list(POD, "ml", Pod)

        asyncio.run(ask())
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(timeout=PATIENCE)
