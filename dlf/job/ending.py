"""How following a job ended: a value, made by the follower and judged by `decide`."""

import enum

import msgspec

from dlf.manifest.phase import JobState


class End(enum.Enum):
    """Why following ended."""

    FINAL = "final"
    DELETED = "deleted"
    HOPELESS = "hopeless"
    START_TIMEOUT = "start timeout"
    TIMEOUT = "timeout"


class Ending(msgspec.Struct, frozen=True):
    """How following ended.

    Attributes:
        end: why.
        verdict: the job's own state at that time.
        why: what was being waited for, or why it is hopeless.
        lead: the success of the lead pod decided, whatever the job's own state.
    """

    end: End
    verdict: JobState
    why: str = ""
    lead: bool = False
