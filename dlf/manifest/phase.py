"""The state of a job in dlf's words, for all job kinds."""

import enum

import msgspec


class Phase(enum.Enum):
    """The phases of every job kind."""

    SUBMITTED = "submitted"  # the operator has not reacted yet
    QUEUED = "queued"  # accepted; pods may not exist yet
    RUNNING = "running"
    RESTARTING = "restarting"
    FINISHING = "finishing"  # the end is near, but not decided
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Whether nothing can follow."""
        return self in {Phase.SUCCEEDED, Phase.FAILED}


class JobState(msgspec.Struct, frozen=True):
    """A phase, the operator's own words for it, and what in the status dlf does not know."""

    phase: Phase
    reason: str = ""
    message: str = ""
    unknown: tuple[str, ...] = ()
