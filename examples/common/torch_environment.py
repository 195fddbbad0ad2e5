"""The ranks that MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE describe.

Operators set these variables, and torchrun sets them anew for each process it starts. Under
torchrun its own store listens on the master port, so the ranks meet through torch.distributed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from datetime import timedelta

import regression
from data_parallel import Group
from process_group import PATIENCE_SECONDS, ProcessGroup, wait_for_name


class TorchGroup:
    """All ranks, by torch.distributed with gloo."""

    def __init__(self) -> None:
        """Wait until all ranks are there."""
        import torch
        import torch.distributed

        regression.announce(f"torch {torch.__version__}, all-reduce by gloo")
        wait_for_name(os.environ["MASTER_ADDR"], PATIENCE_SECONDS)
        torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=PATIENCE_SECONDS))
        self.rank = torch.distributed.get_rank()
        self.world_size = torch.distributed.get_world_size()
        self._torch = torch

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Return the element-wise sum of every rank's values, on every rank."""
        total = self._torch.tensor(values, dtype=self._torch.float64)
        self._torch.distributed.all_reduce(total)
        return total.tolist()

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """Return rank 0's values, on every rank."""
        reference = self._torch.tensor(values, dtype=self._torch.float64)
        self._torch.distributed.broadcast(reference, src=0)
        return reference.tolist()


def join() -> Group:
    """Return the group of all ranks: by torch where it is installed, else by plain sockets."""
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")  # torch alone is enough
    try:
        return TorchGroup()
    except ModuleNotFoundError:
        regression.announce("the standard library, all-reduce over sockets; python3 has no torch")
        return ProcessGroup.from_environment()
