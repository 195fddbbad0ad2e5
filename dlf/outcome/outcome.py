"""How a job ended: a result, not an error. Both runtimes make one, and `report` tells it."""

import msgspec

from dlf.errors import ExitCode
from dlf.outcome.evidence import Evidence
from dlf.outcome.timeline import Timeline


class PodFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One container that ended badly, or a pod that was lost.

    Attributes:
        pod: name of the pod.
        role: role of the pod in the job, such as `worker`.
        rank: global rank, or None where the role has none.
        container: name of the container, or "" when the whole pod was lost.
        exit_code: exit code of the container (128 + signal when a signal ended it), or None.
        reason: the word of Kubernetes: `Error`, `OOMKilled`, `Evicted`, `NodeLost` ...
        message: more words of whoever knows: kubelet, scheduler, registry.
        node: where it ran, or "".
        finished_at: when the container ended or, if that was earlier, the cluster began to take its
            pod away; RFC 3339 in UTC, or "" when unknown. The order of failures.
        evidence: what the end of its log says of the cause.
        last_lines: the last lines of its log, without newlines.
        stopped: it ended because it was deleted, not by itself.
    """

    pod: str
    role: str = ""
    rank: int | None = None
    container: str = ""
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    node: str = ""
    finished_at: str = ""
    evidence: Evidence = Evidence()
    last_lines: tuple[bytes, ...] = ()
    stopped: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of following a job.

    Attributes:
        code: the exit code of dlf.
        job: `kind name`, such as `PyTorchJob pytorchjob-a-1f2e`.
        phase: the last phase, or the word for why following ended: `deleted`, `timeout`.
        reason: why following ended where no pod tells it, such as what a time limit waited for.
        operator: the operator's own reason and message.
        failures: the first cause first; the rest only failed after it.
        timeline: how long each phase took.
        warnings: what is not a failure but should be known: pods still running, unread logs.
    """

    code: ExitCode
    job: str
    phase: str
    reason: str = ""
    operator: str = ""
    failures: tuple[PodFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    timeline: Timeline = Timeline()
