"""The ranks of a job in which nothing happens, with the ends of their logs: for a hang."""

from dlf.diagnose.log_evidence import find_evidence, shown
from dlf.job.job_pods import Pods
from dlf.logs.multiplexer import Multiplexer
from dlf.manifest.observed import Pod
from dlf.outcome.outcome import PodFailure


def silent_ranks(pods: Pods, logs: Multiplexer, words: str) -> tuple[PodFailure, ...]:
    """The training containers that run, those first in whose log a traceback stands.

    Args:
        pods: of the job.
        logs: know the last lines of each container.
        words: since when they are silent.
    """
    found = [
        _of_container(pods, pod, status.name, logs, words)
        for pod in pods.running()
        for status in pods.statuses(pod)
        if status.state.running
    ]
    return tuple(sorted(found, key=_order))


def raised_ranks(pods: Pods, logs: Multiplexer) -> tuple[PodFailure, ...]:
    """The running ranks in whose log a traceback stands that is no victim's, by rank."""
    ranks = silent_ranks(pods, logs, "")
    return tuple(each for each in ranks if _has_raised(each))


def _of_container(
    pods: Pods, pod: Pod, container: str, logs: Multiplexer, words: str
) -> PodFailure:
    identity = pods.identify(pod)
    kept = tuple(logs.last_lines(pod.metadata.name, container))
    return PodFailure(
        pod=pod.metadata.name,
        role=identity.role,
        rank=identity.rank,
        container=container,
        reason="Running",
        message=words,
        node=pod.spec.node_name or "",
        evidence=find_evidence(kept),
        last_lines=shown(kept),
    )


def _has_raised(failure: PodFailure) -> bool:
    return bool(failure.evidence.traceback) and not failure.evidence.is_victim


def _order(failure: PodFailure) -> tuple[bool, int, str]:
    rank = -1 if failure.rank is None else failure.rank
    return not _has_raised(failure), rank, failure.pod
