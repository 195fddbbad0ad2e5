"""Data-parallel training over MPI with mpi4py; mpirun starts one process a slot."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel
from mpi_group import MpiGroup

if __name__ == "__main__":
    data_parallel.fit(MpiGroup())
