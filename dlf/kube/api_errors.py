"""An error response of the API server in one line, and whether to try again."""

from http.client import responses

import msgspec

from dlf.errors import Rejected
from dlf.manifest.observed import Observed, Status

MAX_MESSAGE_CHARACTERS = 2000
"""Of the server's message that are shown; a proxy may answer with a whole web page."""


class Unavailable(Exception):
    """No response, or 429 or 5xx: the same request may work later.

    Args:
        cause: what happened, for messages.
        retry_after: seconds that the server asked to wait.
    """

    def __init__(self, cause: str, retry_after: float = 0.0) -> None:
        super().__init__(cause)
        self.cause = cause
        self.retry_after = retry_after


class ObjectNotFound(Rejected):
    """404 of the object that was asked for. A kind that is not served is another 404."""


class StatusDetails(Observed):
    """metav1.StatusDetails."""

    name: str = ""


class DetailedStatus(Status):
    """metav1.Status with its details."""

    details: StatusDetails | None = None


class Action(msgspec.Struct, frozen=True):
    """What a request does: a verb on a resource, as RBAC names them."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""

    @property
    def description(self) -> str:
        """Such as `delete pods team-a in namespace ml`."""
        name = f" {self.name}" if self.name else ""
        namespace = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{name}{namespace}"


def error_of(
    action: Action, status: int, body: bytes | msgspec.Raw, retry_after: float = 0.0
) -> Rejected | Unavailable:
    """The exception for a response other than 2xx, or for the ERROR event of a watch.

    Args:
        action: what was requested.
        status: HTTP status, or the `code` of the event.
        body: a metav1.Status, or whatever a proxy sent instead.
        retry_after: seconds that the server asked to wait.

    Returns:
        Unavailable for 429 and 5xx. Rejected for the rest: it says verb, resource, the server's
        own message and what to do.
    """
    details = _parse(bytes(body))
    text = details.message or details.reason or responses.get(status, "no reason")
    message = " ".join(text.split())[:MAX_MESSAGE_CHARACTERS]
    if status == 429 or status >= 500:
        return Unavailable(f"HTTP {status}: {message}", retry_after)
    not_found = status == 404 and details.details and details.details.name == action.name != ""
    return (ObjectNotFound if not_found else Rejected)(
        f"cannot {action.description}: {message} (HTTP {status})",
        _hint(action, status, message),
        status=status,
        reason=details.reason or "",
    )


def _parse(body: bytes) -> DetailedStatus:
    """Decode a Status. The text that another server or a proxy sends becomes its message."""
    try:
        return msgspec.json.decode(body, type=DetailedStatus)
    except msgspec.DecodeError:
        return DetailedStatus(message=body.decode(errors="replace").strip())


def _hint(action: Action, status: int, message: str) -> str:
    where = f" in namespace {action.namespace}" if action.namespace else ""
    match status:
        case 401:
            return "log in again, or check the service account: its credential is not accepted"
        case 403 if "denied the request" in message or "exceeded quota" in message:
            return "an admission rule of the cluster refused it; the message above is its own"
        case 403:
            return f"ask for a Role that allows `{action.verb}` on `{action.resource}`{where}"
        case 404 if action.name == "":
            return (
                f"is `{action.resource}` installed in this cluster, and does the namespace exist?"
            )
        case 409:
            return "an object of this name exists already, or it was changed in the meantime"
        case 400 | 422:
            return (
                "`--dry-run` prints what is sent, `--dry-run=server` lets this cluster validate it"
            )
        case _:
            return ""
