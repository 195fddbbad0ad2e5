"""What the API server's refusal says, in one line, and whether to try again."""

from http.client import responses

import msgspec

from dlf.errors import Rejected
from dlf.manifest.observed import Observed, Status

LONGEST = 2000
"""Characters of a refusal that are shown; a proxy may answer with a whole page."""


class Unavailable(Exception):
    """No answer, or 429 or 5xx: the same request may work later.

    Args:
        cause: what happened, in words.
        retry_after: seconds the server asked to wait.
    """

    def __init__(self, cause: str, retry_after: float = 0.0) -> None:
        super().__init__(cause)
        self.cause = cause
        self.retry_after = retry_after


class ObjectMissing(Rejected):
    """404 of the very object that was asked for; a kind that is not served is another 404."""


class Details(Observed):
    """metav1.StatusDetails."""

    name: str = ""


class Refusal(Status):
    """metav1.Status with its details."""

    details: Details | None = None


class Action(msgspec.Struct, frozen=True):
    """What was asked: a verb on a resource, as RBAC names them."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def words(self) -> str:
        """Such as `delete pods team-a in namespace ml`."""
        name = f" {self.name}" if self.name else ""
        namespace = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{name}{namespace}"


def failure(
    action: Action, status: int, body: bytes | msgspec.Raw, retry_after: float = 0.0
) -> Rejected | Unavailable:
    """What an answer other than 2xx, or the ERROR event of a watch, means.

    Args:
        action: what was asked.
        status: HTTP status, or the `code` of the event.
        body: a metav1.Status, or whatever a proxy sent instead.
        retry_after: seconds the server asked to wait.

    Returns:
        Unavailable for 429 and 5xx. Rejected for the rest: it carries verb, resource, the server's
        own words and what to do.
    """
    refusal = _read(bytes(body))
    said = refusal.message or refusal.reason or responses.get(status, "no reason")
    words = " ".join(said.split())[:LONGEST]
    if status == 429 or status >= 500:
        return Unavailable(f"HTTP {status}: {words}", retry_after)
    missing = status == 404 and refusal.details and refusal.details.name == action.name != ""
    return (ObjectMissing if missing else Rejected)(
        f"cannot {action.words}: {words} (HTTP {status})",
        _hint(action, status, words),
        status=status,
        reason=refusal.reason or "",
    )


def _read(body: bytes) -> Refusal:
    """Decode a Status; what else a server or proxy sends becomes its message."""
    try:
        return msgspec.json.decode(body, type=Refusal)
    except msgspec.DecodeError:
        return Refusal(message=body.decode(errors="replace").strip())


def _hint(action: Action, status: int, words: str) -> str:
    where = f" in namespace {action.namespace}" if action.namespace else ""
    match status:
        case 401:
            return "log in again, or check the service account: its credential is not accepted"
        case 403 if "denied the request" in words or "exceeded quota" in words:
            return "an admission rule of the cluster says no; its words are above"
        case 403:
            return f"ask for a Role that allows `{action.verb}` on `{action.resource}`{where}"
        case 404 if action.name == "":
            return (
                f"is `{action.resource}` installed in this cluster, and does the namespace exist?"
            )
        case 409:
            return "an object of this name is there already, or it changed meanwhile"
        case 400 | 422:
            return "`--dry-run` prints what is sent, `--dry-run=server` lets this cluster check it"
        case _:
            return ""
