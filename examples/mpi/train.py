"""Data-parallel training over MPI with mpi4py; mpirun starts one process a slot."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel


class MpiGroup:
    """All ranks that mpirun has started."""

    backend = f"mpi4py, {MPI.Get_library_version().splitlines()[0].partition(',')[0]}"

    def __init__(self) -> None:
        self.rank = MPI.COMM_WORLD.Get_rank()
        self.world_size = MPI.COMM_WORLD.Get_size()

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Return the element-wise sum of every rank's values, on every rank."""
        total = array("d", values)
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
        return total.tolist()

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """Return rank 0's values, on every rank."""
        return MPI.COMM_WORLD.bcast(list(values), root=0)


if __name__ == "__main__":
    data_parallel.fit(MpiGroup())
