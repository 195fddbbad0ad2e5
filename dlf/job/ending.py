"""How following a job ended: a value, made by the follower and judged by `decide`."""

import enum

import msgspec

from dlf.frameworks.phase import Verdict


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
    verdict: Verdict
    why: str = ""
    lead: bool = False
