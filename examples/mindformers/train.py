"""Data-parallel training in one of the processes that msrun_launcher.sh starts.

The launcher sets the variables of MindSpore's dynamic cluster (MS_ROLE, MS_SCHED_HOST, ...).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))
import mindspore_training

if __name__ == "__main__":
    mindspore_training.train()
