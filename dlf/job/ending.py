"""How a job ends for dlf: one table of causes, and what each means.

`decision` finds the cause; `run` reads from the table what to do, `summary` what to say.
"""

import enum

import msgspec

from dlf.errors import ExitCode
from dlf.manifest.phase import JobState
from dlf.task.scalars import format_duration
from dlf.task.settings import Lifecycle


class Cause(enum.Enum):
    """Why following a job ended."""

    SUCCEEDED = "the operator says that it succeeded"
    FAILED = "the operator says that it failed"
    LEADER_SUCCEEDED = "the pod that decides has succeeded"
    TRAINING_SUCCEEDED = "its training has succeeded, and only sidecars keep its pods"
    TRAINING_FAILED = "its training has failed, and only sidecars keep its pods"
    DELETED_AFTER_SUCCESS = "it was deleted after all its pods had succeeded"
    DELETED = "it was deleted by someone else"
    UNSTARTABLE = "one of its pods can never start, or the operator refuses it"
    START_TIMEOUT = "not all its pods had started within --start_timeout"
    TIMEOUT = "it had not ended within --timeout"
    HUNG = "nothing had happened for --hang_timeout"
    NOT_SUBMITTED = "an earlier job was not gone within a time limit"
    NOT_ALLOWED = "the API server does not let dlf follow it"
    SIGNAL = "dlf got SIGTERM or SIGINT"


class CleanUp(enum.Enum):
    """What dlf does with the job after its end."""

    NOTHING = "nothing"
    STOP_PODS = "stop the pods that still run, and keep the job"
    BY_ON_EXIT = "delete or keep the job, by the rule of --on_exit"


class Rule(msgspec.Struct, frozen=True):
    """What one cause means.

    Attributes:
        exit_code: of dlf; SIGINT ends with 130.
        words: follow the job's name in the summary; they may name a time limit in braces.
        clean_up: what dlf does with the job.
        drain_seconds: how long logs may be read to their end before that.
        stop_seconds: how long a deletion may take; pods that ignore SIGTERM take 30 s to end.
    """

    exit_code: ExitCode
    words: str
    clean_up: CleanUp
    drain_seconds: float = 30.0
    stop_seconds: float = 60.0

    def phrase(self, limits: Lifecycle) -> str:
        """The words, with the time limit that was reached."""
        return self.words.format(
            start_timeout=format_duration(limits.start_timeout),
            timeout=format_duration(limits.timeout),
            hang_timeout=format_duration(limits.hang_timeout),
        )


DRAIN_STOPPED_SECONDS = 5.0
"""How long the logs of pods that are being stopped are read."""

RULES = {
    Cause.SUCCEEDED: Rule(ExitCode.SUCCEEDED, "succeeded", CleanUp.STOP_PODS),
    Cause.FAILED: Rule(ExitCode.FAILED, "failed", CleanUp.STOP_PODS),
    Cause.LEADER_SUCCEEDED: Rule(ExitCode.SUCCEEDED, "succeeded", CleanUp.STOP_PODS),
    Cause.TRAINING_SUCCEEDED: Rule(
        ExitCode.SUCCEEDED, "succeeded", CleanUp.BY_ON_EXIT, DRAIN_STOPPED_SECONDS
    ),
    Cause.TRAINING_FAILED: Rule(
        ExitCode.FAILED, "failed", CleanUp.BY_ON_EXIT, DRAIN_STOPPED_SECONDS
    ),
    Cause.DELETED_AFTER_SUCCESS: Rule(ExitCode.SUCCEEDED, "succeeded", CleanUp.NOTHING),
    Cause.DELETED: Rule(ExitCode.DELETED, "was deleted by someone else", CleanUp.NOTHING),
    Cause.UNSTARTABLE: Rule(
        ExitCode.FAILED, "cannot start", CleanUp.BY_ON_EXIT, DRAIN_STOPPED_SECONDS
    ),
    Cause.START_TIMEOUT: Rule(
        ExitCode.TIMEOUT,
        "did not start within {start_timeout} (--start_timeout)",
        CleanUp.BY_ON_EXIT,
        DRAIN_STOPPED_SECONDS,
    ),
    Cause.TIMEOUT: Rule(
        ExitCode.TIMEOUT,
        "did not finish within {timeout} (--timeout)",
        CleanUp.BY_ON_EXIT,
        DRAIN_STOPPED_SECONDS,
    ),
    Cause.HUNG: Rule(
        ExitCode.TIMEOUT,
        "hung: no line and no change for {hang_timeout} (--hang_timeout)",
        CleanUp.BY_ON_EXIT,
        DRAIN_STOPPED_SECONDS,
    ),
    Cause.NOT_SUBMITTED: Rule(
        ExitCode.TIMEOUT, "could not be submitted in time", CleanUp.BY_ON_EXIT
    ),
    Cause.NOT_ALLOWED: Rule(ExitCode.REJECTED, "may not be followed", CleanUp.BY_ON_EXIT),
    # kubelet kills 30 s after SIGTERM by default.
    Cause.SIGNAL: Rule(ExitCode.SIGTERM, "was stopped", CleanUp.BY_ON_EXIT, stop_seconds=15.0),
}


class Ending(msgspec.Struct, frozen=True):
    """How following one job ended.

    Attributes:
        cause: why.
        state: the job's own state at that time, or what it will come to.
        detail: what was being waited for, or why it can never start; may be "".
    """

    cause: Cause
    state: JobState
    detail: str = ""

    @property
    def rule(self) -> Rule:
        """What the cause means."""
        return RULES[self.cause]
