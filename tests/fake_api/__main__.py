"""Run the API server until it is interrupted: `PYTHONPATH=tests python -m fake_api FOLDER`."""

import argparse
import signal
from pathlib import Path

from fake_api.thread import ApiThread

parser = argparse.ArgumentParser(prog="fake_api", description=__doc__)
parser.add_argument("folder", type=Path, help="where the kubeconfig is written")
folder: Path = parser.parse_args().folder
ends = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, ends)
with ApiThread(folder) as server:
    print(server.kubeconfig, flush=True)
    signal.sigwait(ends)
