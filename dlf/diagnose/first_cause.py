"""Which of the failures that came together was the cause: not one whose log marks a victim."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from dlf.manifest.meta import parse_time
from dlf.outcome.outcome import PodFailure

WINDOW = timedelta(seconds=45)
"""After the first failure: in it, a victim's container may end before that of the cause.

A process that loses its peer fails within a second. The launcher of the peer looks every 5 seconds
at most (torchrun; paddle: 2), and then gives its other processes 30 seconds to end (both), before
its own container ends. The rest is for clocks of nodes that differ.
"""

NODE_LOSS_WINDOW = timedelta(seconds=360)
"""The same for a lost node. Its peers fail at once; its pod is marked only when the node was silent
for 50 s (node-monitor-grace-period) and its taint tolerated for 300 s, both by default."""

_NODE_LOSS = frozenset({"NodeLost", "DeletionByTaintManager", "DeletionByPodGC"})
_CLUSTER_CAUSES = _NODE_LOSS | {
    "OOMKilled",
    "Evicted",
    "Preempting",  # by the kubelet, for a critical pod
    "Shutdown",  # node shutdown, up to Kubernetes 1.21
    "NodeShutdown",
    "Terminated",  # node shutdown, since 1.22
    "PreemptionByScheduler",
    "EvictionByEvictionAPI",
    "TerminationByKubelet",
}
"""Reasons that only a cluster has. Nothing that happens in a peer is their cause."""

# SIGABRT and SIGTERM, as a shell and as launchers in Python pass them on (256 minus the signal).
_STOPPED = {134, 143, 250, 241}


def victims_last(failures: Sequence[PodFailure]) -> tuple[PodFailure, ...]:
    """Of the failures in the window after the first, put the victims behind the others.

    Where the cluster took a pod in it, or its memory ran out, those come first that have a cause of
    their own: the cluster's, or an error in their log. A pod that tells nothing follows them.

    A victim is one whose log shows nothing but the loss of a peer, and one that SIGTERM or SIGABRT
    ended without a word: NCCL's watchdog and gloo abort. Where all are victims, time decides.

    Args:
        failures: the first in time first.
    """
    first = parse_time(failures[0].finished_at) if failures else None
    if first is None:
        return tuple(failures)
    times = [parse_time(each.finished_at) for each in failures]
    wave = [each for each, at in zip(failures, times, strict=True) if _is_in(each, at, first)]
    later = [each for each in failures if each not in wave]
    is_taken = any(each.reason in _CLUSTER_CAUSES for each in wave)

    def order(failure: PodFailure) -> tuple[bool, int]:
        is_open = is_taken and not failure.evidence.error and failure.reason not in _CLUSTER_CAUSES
        return failure.stopped, 2 if _is_victim(failure) else int(is_open)

    return (*sorted(wave, key=order), *later)


def _is_in(failure: PodFailure, time: datetime | None, first: datetime) -> bool:
    window = NODE_LOSS_WINDOW if failure.reason in _NODE_LOSS else WINDOW
    return time is not None and time - first <= window


def _is_victim(failure: PodFailure) -> bool:
    is_silent = not failure.evidence.error and failure.exit_code in _STOPPED
    is_plain = failure.reason in {"", "Error"}  # the cluster gives no reason of its own
    return is_plain and (failure.evidence.is_victim or is_silent)
