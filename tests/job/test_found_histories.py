"""Histories that random tests have found, cut down to what they need."""

import random

from job.test_random import Histories, succeeded


def test_a_log_that_was_printed_as_the_one_of_the_restart_before_leaves_both_named() -> None:
    """Each restart is told when the next one has begun: the log of restart 2 stands for 1.

    That shows at restart 4, when the kubelet has none of the two any more. Restart 1's is lost.
    """
    random.seed(0)  # of the pauses between requests
    history = Histories()
    try:
        history.begin("pytorch", succeeded, is_calm=False, is_settled=True, missing=1, fault=None)
        for is_told, seconds in ((False, 3.0), (False, 0.05), (False, 0.05), (True, 3.0)):
            history.pod_restarts(is_told=is_told, pick=0, then=seconds)
    finally:
        history.teardown()
    pod = f"{history.job}-master-0/pytorch"
    assert [f"{pod} (restart 2)", f"{pod} (restart 1)"] == [
        line.partition(": ")[0]
        for line in history.cluster.messages
        if "gone before it was read" in line and line.startswith(pod)
    ]
