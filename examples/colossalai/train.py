"""Data-parallel training with what ColossalAI builds on: one rank a process, gradients averaged.

`colossalai.launch_from_torch()` reads the variables that this script reads. Colossal-AI itself is
not used: it needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import data_parallel
import torch_environment

if __name__ == "__main__":
    data_parallel.fit(torch_environment.join())
