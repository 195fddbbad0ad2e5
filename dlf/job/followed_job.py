"""What is known of a job that is followed, and since when."""

import msgspec

from dlf.diagnose.pending import PendingReason
from dlf.diagnose.pod_state import has_ended
from dlf.diagnose.start_reasons import StartReasons
from dlf.diagnose.training_containers import (
    remaining_containers,
    training_ended,
    training_succeeded,
)
from dlf.frameworks import job_state, kind_of
from dlf.job.job_pods import Pods
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.observed import Job, Pod
from dlf.manifest.phase import JobState, Phase
from dlf.outcome.status_line import status_line
from dlf.task.settings import Lifecycle


class FollowedJob:
    """The state that `decision.decide` decides from. All times are seconds of one clock.

    Args:
        job: as it was created or found.
        pods: of the job.
        reasons: why pods have not started.
        limits: the time limits.
        leader: the role whose pod 0 decides when the job succeeds, or "".

    Attributes:
        job: as it was last seen.
        deleted: None, or why it counts as deleted; may be "".
        since: when following began.
        waiting_since: since when not all pods have started; None when all have.
        finishing_since: since when it is known what the job will come to, although its state does
            not say so yet; None when it is not.
        sidecars_since: since when the training has ended and only other containers keep its pods;
            None when that is not so.
        changed_at: when the job, a pod or a reason for waiting was last last_notices.
        quiet_since: since when no log line came and neither job nor pods changed.
        last_notices: topic to the key of its last notice, and when that was checked.
    """

    def __init__(
        self, job: Job, pods: Pods, reasons: StartReasons, limits: Lifecycle, leader: str
    ) -> None:
        self.job = job
        self.pods = pods
        self.reasons = reasons
        self.limits = limits
        self.leader = leader
        self.deleted: str | None = None
        self.since = self.changed_at = self.quiet_since = 0.0
        self.waiting_since: float | None = None
        self.finishing_since: float | None = None
        self.sidecars_since: float | None = None
        roles = [leader] if leader else [role.lower() for role in kind_of(job).deciding_roles]
        self._deciding_role = next((role for role in roles if role in pods.roles.replicas), "")
        self.last_notices: dict[str, tuple[object, float]] = {}

    @property
    def state(self) -> JobState:
        """The job's own state."""
        return job_state(self.job)

    @property
    def inferred_state(self) -> JobState | None:
        """What a job that is FINISHING will come to; None while that is open.

        A Volcano Job goes to the state that its phase is named after. mpi-operator's Failed without
        a completionTime is provisional as long as the launcher lives, which may yet succeed.
        """
        state, status = self.state, self.job.status
        if state.phase is not Phase.FINISHING or status is None:
            return None
        if self.job.api_version == VOLCANO_JOB.api_version:
            completing = status.state and status.state.phase == "Completing"
            phase = Phase.SUCCEEDED if completing else Phase.FAILED
        elif any(
            self.pods.identify(pod).role == "launcher" and not has_ended(pod)
            for pod in self.pods.here.values()
        ):
            return None
        else:
            holding = {each.type for each in status.conditions or () if each.status == "True"}
            phase = Phase.FAILED if "Failed" in holding else Phase.SUCCEEDED
        return msgspec.structs.replace(state, phase=phase)

    @property
    def launcher_may_restart(self) -> bool:
        """Whether mpi-operator's launcher, a Kubernetes Job, may get another pod."""
        limit = self.job.backoff_limit
        pods = self.pods.here.values()
        failed = sum(self.pods.identify(pod).role == "launcher" for pod in pods)
        return failed <= (6 if limit is None else limit)  # batch/v1's default

    @property
    def leader_succeeded(self) -> bool:
        """Whether the leader has succeeded. Its failure is left to the operator's policies."""
        if not self.leader:
            return False
        pod = self.pods.here.get(f"{self.job.metadata.name}-{self.leader}-0")
        return pod is not None and self.pods.succeeded(pod)

    def kept_pods(self) -> list[Pod]:
        """The pods that only injected containers keep, when the training has ended; or none.

        The training has ended when the training containers have in all pods that decide: the
        leader, or those of the kind's deciding role, or all. While the operator restarts pods, or
        somebody deletes them, it has not.
        """
        role = self._deciding_role
        training, kept = self.pods.training, self.pods.kept  # few jobs have any kept pods
        if not (kept.get(role) if role else any(kept.values())):
            return []
        if training.get(role) and not self.leader if role else any(training.values()):
            return []
        deciding = self.deciding_pods()
        ended = deciding and all(
            training_ended(pod, self.pods.statuses(pod)) and not pod.metadata.deletion_timestamp
            for pod in deciding
        )
        alive = [pod for pod in deciding if not has_ended(pod)]
        return alive if ended and self.state.phase is not Phase.RESTARTING else []

    def deciding_pods(self) -> list[Pod]:
        """The pods whose success is the job's, once all of them exist; else none."""
        role = self._deciding_role
        if self.leader:
            leader = self.pods.here.get(f"{self.job.metadata.name}-{self.leader}-0")
            return [leader] if leader else []
        pods = [
            pod
            for pod in self.pods.here.values()
            if not role or self.pods.identify(pod).role == role
        ]
        expected = self.pods.roles.replicas[role] if role else self.pods.total
        return pods if len(pods) >= expected > 0 else []

    def training_result(self) -> bool:
        """Whether the training has succeeded in all pods that decide."""
        return all(training_succeeded(pod, self.pods.statuses(pod)) for pod in self.deciding_pods())

    def describe_sidecars(self) -> str:
        """Which containers keep which pods, in words."""
        kept = self.kept_pods()
        names = {
            name for pod in kept for name in remaining_containers(pod, self.pods.statuses(pod))
        }
        more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        containers = f"container{'s' if len(names) > 1 else ''} {', '.join(sorted(names))}"
        return f"{containers} of pod {kept[0].metadata.name}{more}" if kept else ""

    @property
    def is_training(self) -> bool:
        """Whether all pods have started, and one of them trains."""
        return self.waiting_since is None and any(self.pods.training.values())

    @property
    def count(self) -> str:
        """Such as `2 of 3 running`."""
        return f"{len(self.pods.running())} of {self.pods.total} running"

    def status_line(self, now: float) -> str:
        """Pods by state, and what is waited for."""
        waiting = ""
        if self.waiting_since is not None and (reason := self.pending_reason()):
            waiting = reason.sentence
        elif self.sidecars_since is not None:
            waiting = f"waiting for {self.describe_sidecars()}"
        return status_line(now - self.since, self.pods.count_states(), waiting)

    def pending_reason(self) -> PendingReason | None:
        """What the pods wait for, or None when all have started."""
        return self.reasons.pending_reason(list(self.pods.here.values()), self.pods.total)

    def changed(self, now: float) -> None:
        """The job, a pod, or a reason for waiting has changed: note since when things are so."""
        self.changed_at = now
        if not self.pods.waiting:
            self.waiting_since = None
            self.last_notices.pop("waiting", None)
        elif self.waiting_since is None:
            self.waiting_since = now
        if not self.inferred_state:
            self.finishing_since = None
        elif self.finishing_since is None:
            self.finishing_since = now
        if not self.kept_pods():
            self.sidecars_since = None
            self.last_notices.pop("sidecars", None)
        elif self.sidecars_since is None:
            self.sidecars_since = now
