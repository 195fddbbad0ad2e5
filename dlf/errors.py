"""How dlf ends: every exit code and every error class, in one place.

    DlfError
    ├── UsageError      2   flags, environment or kubeconfig are wrong; nothing was sent
    ├── Rejected        3   the API server refused a request (400, 401, 403, 404, 409, 422)
    ├── ClusterLost     4   the API server was out of reach for longer than the retry budget
    ├── JobNotFound     6   there is no job of the name that was given
    ├── OutputFailed    74  standard output could not be written
    └── Interrupted     130 SIGINT, 143 SIGTERM

A job that failed, timed out or was deleted is a result, not an error: `dlf.outcome` has those.
Whatever else is raised is a bug in dlf and ends with 70.
"""

import enum
from collections.abc import Iterable

# How alike a suggestion must be, so that it is never a mere guess.
_SIMILARITY = 0.75  # of 1, as difflib counts it
_MORE_LETTERS = 2


class ExitCode(enum.IntEnum):
    """What the process returns. The numbers are an interface; docs/reference lists them."""

    SUCCEEDED = 0
    FAILED = 1
    USAGE = 2
    REJECTED = 3
    CLUSTER_LOST = 4
    DELETED = 5
    NOT_FOUND = 6
    BUG = 70
    OUTPUT = 74  # EX_IOERR of sysexits.h
    TIMEOUT = 124
    SIGINT = 130
    SIGTERM = 143


class DlfError(Exception):
    """An error that the user sees as one line, without a traceback.

    Args:
        message: what is wrong, lower case, no full stop, with the value in question.
        hint: what to do about it, or nothing.
    """

    exit_code: ExitCode

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DlfError):
    """Flags, environment variables or kubeconfig are wrong."""

    exit_code = ExitCode.USAGE


class Rejected(DlfError):
    """The API server refused a request.

    Args:
        message: verb, resource and the server's own words.
        hint: what to do about it, or nothing.
        status: the HTTP status code.
        reason: the `reason` of the Kubernetes Status object, such as `AlreadyExists`, or "".
    """

    exit_code = ExitCode.REJECTED

    def __init__(self, message: str, hint: str = "", *, status: int, reason: str = "") -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason


class ClusterLost(DlfError):
    """The API server could not be reached, or kept failing, beyond the retry budget."""

    exit_code = ExitCode.CLUSTER_LOST


class JobNotFound(DlfError):
    """`status`, `logs` or `delete` was given the name of a job that is not there."""

    exit_code = ExitCode.NOT_FOUND


class OutputFailed(DlfError):
    """Standard output could not be written, as on a full disk; a closed pipe is no error."""

    exit_code = ExitCode.OUTPUT


class Interrupted(DlfError):
    """SIGINT or SIGTERM arrived.

    Args:
        exit_code: `ExitCode.SIGINT` or `ExitCode.SIGTERM`.
    """

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(f"stopped by {exit_code.name}")
        self.exit_code = exit_code


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is not known: the one of nearly the same spelling."""
    close = similar(word, known)
    return f"did you mean {close}?" if close else "see --help"


def similar(word: str, known: Iterable[str]) -> str:
    """The known word of nearly the same spelling, or ""."""
    import difflib

    alike = [each for each in known if abs(len(each) - len(word)) <= _MORE_LETTERS]
    close = difflib.get_close_matches(word, alike, n=1, cutoff=_SIMILARITY)
    return close[0] if close else ""
