"""What a request is about: its path and method in the API's own terms."""

import re
from dataclasses import dataclass

from fake_api.http_server import Request
from fake_api.store import Collection

_PATH = re.compile(
    r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class RequestInfo:
    """A collection, an object or its subresource, and what is to be done with it."""

    verb: str
    version: str
    collection: Collection
    name: str
    sub: str


def request_info(request: Request) -> RequestInfo | None:
    """None for discovery and for what is no API path at all."""
    found = _PATH.match(request.path)
    if not found:
        return None
    part = {key: value or "" for key, value in found.groupdict().items()}
    if request.method != "GET":
        verb = _VERBS[request.method]
    elif part["sub"] == "log":
        verb = "log"
    elif part["name"]:
        verb = "get"
    else:
        verb = "watch" if request.query.get("watch") in ("true", "1", "True") else "list"
    return RequestInfo(
        verb=verb,
        version=part["version"] or part["core"],
        collection=Collection(part["group"], part["plural"], part["namespace"]),
        name=part["name"],
        sub=part["sub"],
    )
