"""The ranks that mpirun has started, by mpi4py."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import mpi4py
import regression
from mpi4py import MPI


class MpiGroup:
    """All ranks that mpirun has started."""

    def __init__(self) -> None:
        library = MPI.Get_library_version().partition(",")[0]
        regression.announce(f"mpi4py {mpi4py.__version__}, {library}")
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
