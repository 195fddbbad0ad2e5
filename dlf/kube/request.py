"""Every request that dlf sends to an API server, as a value: method, path, query, body.

URLs: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from urllib.parse import quote

import msgspec

from dlf.kube.refusal import Action
from dlf.manifest.kinds import POD, Kind

ANSWER = 65.0
"""Seconds until an answer; the API server itself gives up a request after 60."""

WATCH_GRACE = 30.0
"""Seconds that a watch may be silent beyond the time after which the server ends it."""

PAGE = 500
"""Objects that one LIST request asks for."""

ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    name="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to send.

    Attributes:
        action: what it means, for messages.
        path: below the server's URL.
        patience: seconds that each read may take; None for no limit.
    """

    action: Action
    path: str
    method: str = "GET"
    query: dict[str, str] = {}
    body: bytes = b""
    content_type: str = "application/json"
    patience: float | None = ANSWER


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
    """The same in RBAC's words, for messages."""
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return Action(verb, resource, namespace, name)


def create(kind: Kind, namespace: str, body: bytes, *, dry_run: bool, strict: bool) -> Request:
    """POST an object. Not strict means that unknown fields are dropped with a warning."""
    return Request(
        action=action_of("create", kind, namespace),
        method="POST",
        path=path_of(kind, namespace),
        query=_given(
            fieldValidation="Strict" if strict else "Warn", dryRun="All" if dry_run else ""
        ),
        body=body,
    )


def get(kind: Kind, namespace: str, name: str) -> Request:
    """GET one object."""
    return Request(
        action=action_of("get", kind, namespace, name), path=path_of(kind, namespace, name)
    )


def list_page(
    kind: Kind, namespace: str, *, label_selector: str, field_selector: str, token: str
) -> Request:
    """GET a page of a collection: the first one, or the one that a page's token leads to."""
    return Request(
        action=action_of("list", kind, namespace),
        path=path_of(kind, namespace),
        query=_given(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(PAGE),
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
) -> Request:
    """GET the changes of a collection since a version, for so many seconds."""
    return Request(
        action=action_of("watch", kind, namespace),
        path=path_of(kind, namespace),
        query=_given(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_seconds),
        ),
        patience=timeout_seconds + WATCH_GRACE,
    )


def delete(kind: Kind, namespace: str, name: str, *, uid: str, foreground: bool) -> Request:
    """DELETE an object; with a uid, only if it still is the one that was meant."""
    options: dict[str, object] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground" if foreground else "Background",
    }
    if uid:
        options["preconditions"] = {"uid": uid}
    return Request(
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
) -> Request:
    """GET a container's log."""
    return Request(
        action=Action("get", "pods/log", namespace, pod),
        path=path_of(POD, namespace, pod, "log"),
        query=_given(
            container=container,
            follow="true" if follow else "",
            previous="true" if previous else "",
            timestamps="true" if timestamps else "",
            sinceTime=since_time,
            tailLines="" if tail_lines is None else str(tail_lines),
            limitBytes="" if limit_bytes is None else str(limit_bytes),
        ),
        # A quiet container sends not even a head, and nobody knows for how long.
        patience=None if follow else ANSWER,
    )


def discovery(group: str, version: str = "") -> Request:
    """GET what a group, or one of its versions, has to offer; the core group is ""."""
    path = "/".join(part for part in ("/apis" if group else "/api", group, version) if part)
    return Request(action=Action("get", path), path=path)


def access_review(
    verb: str, group: str, resource: str, subresource: str, namespace: str
) -> Request:
    """POST the question whether we may do this."""
    asked = _given(
        verb=verb, group=group, resource=resource, subresource=subresource, namespace=namespace
    )
    review = {
        "apiVersion": ACCESS_REVIEW.api_version,
        "kind": ACCESS_REVIEW.name,
        "spec": {"resourceAttributes": asked},
    }
    return Request(
        action=action_of("create", ACCESS_REVIEW, ""),
        method="POST",
        path=path_of(ACCESS_REVIEW, ""),
        body=msgspec.json.encode(review),
    )


def _given(**values: str) -> dict[str, str]:
    return {key: value for key, value in values.items() if value}
