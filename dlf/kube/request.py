"""Every request that dlf sends to the API server, as a value: method, path, query, body.

URLs: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from urllib.parse import quote

import msgspec

from dlf.kube.api_errors import Action
from dlf.manifest.kinds import POD, Kind

RESPONSE_TIMEOUT_SECONDS = 65.0
"""The API server itself gives up a request after 60."""

WATCH_GRACE_SECONDS = 30.0
"""That a watch may be silent after the time when the server should have ended it."""

LIST_PAGE_SIZE = 500
"""Objects that one LIST request asks for, as in kubectl."""

ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    name="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
)


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to send.

    Attributes:
        action: what it does, for messages.
        path: below the server's URL.
        read_timeout: seconds that each read may take; None for no limit.
        takes_turns: one of very many: only so many of them connect at a time.
        bulk: nobody waits for any one piece of a long response.
    """

    action: Action
    path: str
    method: str = "GET"
    query: dict[str, str] = {}
    body: bytes = b""
    content_type: str = "application/json"
    read_timeout: float | None = RESPONSE_TIMEOUT_SECONDS
    takes_turns: bool = False
    bulk: bool = False


def path_of(kind: Kind, namespace: str, *below: str) -> str:
    """The path of a collection, or of what is below it: an object's name, its subresource.

    Args:
        kind: of the objects.
        namespace: "" for what has none, or for all.
        below: path segments.
    """
    parts = ["/apis", kind.group] if kind.group else ["/api"]
    parts.append(kind.version)
    if namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    return "/".join([*parts, kind.plural, *(quote(part, safe="") for part in below)])


def action_of(verb: str, kind: Kind, namespace: str, name: str = "") -> Action:
    """What a request does, named as in RBAC, for messages."""
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return Action(verb, resource, namespace, name)


def create(kind: Kind, namespace: str, body: bytes, *, dry_run: bool, strict: bool) -> ApiRequest:
    """POST an object. Not strict means that unknown fields are dropped with a warning."""
    return ApiRequest(
        action=action_of("create", kind, namespace),
        method="POST",
        path=path_of(kind, namespace),
        query=_non_empty(
            fieldValidation="Strict" if strict else "Warn", dryRun="All" if dry_run else ""
        ),
        body=body,
    )


def get(kind: Kind, namespace: str, name: str) -> ApiRequest:
    """GET one object."""
    return ApiRequest(
        action=action_of("get", kind, namespace, name), path=path_of(kind, namespace, name)
    )


def list_page(
    kind: Kind, namespace: str, *, label_selector: str, field_selector: str, limit: int, token: str
) -> ApiRequest:
    """GET a page of a collection, by its `continue` token; with limit 0, the whole collection."""
    return ApiRequest(
        action=action_of("list", kind, namespace),
        path=path_of(kind, namespace),
        query=_non_empty(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else "",
            **{"continue": token},
        ),
    )


def watch(
    kind: Kind,
    namespace: str,
    *,
    label_selector: str,
    field_selector: str,
    resource_version: str,
    timeout_seconds: int,
) -> ApiRequest:
    """GET the changes of a collection after a version, for so many seconds."""
    return ApiRequest(
        action=action_of("watch", kind, namespace),
        path=path_of(kind, namespace),
        query=_non_empty(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_seconds),
        ),
        read_timeout=timeout_seconds + WATCH_GRACE_SECONDS,
    )


def delete(kind: Kind, namespace: str, name: str, *, uid: str, foreground: bool) -> ApiRequest:
    """DELETE an object; with a uid, only if it still has that uid."""
    options: dict[str, object] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground" if foreground else "Background",
    }
    if uid:
        options["preconditions"] = {"uid": uid}
    return ApiRequest(
        action=action_of("delete", kind, namespace, name),
        method="DELETE",
        path=path_of(kind, namespace, name),
        body=msgspec.json.encode(options),
    )


def log(
    namespace: str,
    pod: str,
    container: str,
    *,
    since_time: str,
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail_lines: int | None,
    limit_bytes: int | None,
) -> ApiRequest:
    """GET a container's log."""
    return ApiRequest(
        action=Action("get", "pods/log", namespace, pod),
        path=path_of(POD, namespace, pod, "log"),
        query=_non_empty(
            container=container,
            follow="true" if follow else "",
            previous="true" if previous else "",
            timestamps="true" if timestamps else "",
            sinceTime=since_time,
            tailLines="" if tail_lines is None else str(tail_lines),
            limitBytes="" if limit_bytes is None else str(limit_bytes),
        ),
        # The kubelet sends the head with the first line, which a container may never write.
        read_timeout=None if follow else RESPONSE_TIMEOUT_SECONDS,
        takes_turns=True,
        bulk=not follow,
    )


def discovery(group: str, version: str = "") -> ApiRequest:
    """GET what an API group, or one of its versions, serves; the core group is ""."""
    path = "/".join(part for part in ("/apis" if group else "/api", group, version) if part)
    return ApiRequest(action=Action("get", path), path=path)


def access_review(
    verb: str, group: str, resource: str, subresource: str, namespace: str
) -> ApiRequest:
    """POST the question whether we are allowed to do this."""
    attributes = _non_empty(
        verb=verb, group=group, resource=resource, subresource=subresource, namespace=namespace
    )
    review = {
        "apiVersion": ACCESS_REVIEW.api_version,
        "kind": ACCESS_REVIEW.name,
        "spec": {"resourceAttributes": attributes},
    }
    return ApiRequest(
        action=action_of("create", ACCESS_REVIEW, ""),
        method="POST",
        path=path_of(ACCESS_REVIEW, ""),
        body=msgspec.json.encode(review),
    )


def _non_empty(**values: str) -> dict[str, str]:
    return {key: value for key, value in values.items() if value}
