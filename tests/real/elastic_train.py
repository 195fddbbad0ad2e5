"""An elastic job's script for tests/real/test_elastic.py: argument 1 is a folder that pods share.

Three ranks meet, one pod loses its torchrun, three meet again until the job is made smaller, and
two finish. Each step is an all-reduce, whose sum has to be the number of ranks.
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch  # type: ignore[import-not-found, unused-ignore]
import torch.distributed as dist  # type: ignore[import-not-found, unused-ignore]

STEPS = 5
killed = Path(sys.argv[1], "killed")
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
print(f"rank {rank} of {world}", flush=True)
step = 0
while step < STEPS or (world == 3 and killed.exists()):
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == world, total
    step += 1
    if step == STEPS:
        print(f"{world} ranks have made {STEPS} steps", flush=True)
    if world == 3 and step == STEPS and not killed.exists():
        dist.barrier()
        if os.environ["HOSTNAME"].endswith("worker-2"):
            killed.touch()
            os.kill(os.getppid(), signal.SIGKILL)  # torchrun
            os._exit(1)
        time.sleep(60)  # torchrun ends this when it misses the other
    time.sleep(0.1)
