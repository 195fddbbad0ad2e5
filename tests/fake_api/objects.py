"""The answers that are one JSON document: everything but watches and logs."""

import json
from typing import Any

from fake_api.http_server import Request
from fake_api.request_info import RequestInfo
from fake_api.selectors import matcher
from fake_api.store import Object, StatusError, Store, group_resource


class Objects:
    """Creates, reads and changes objects as the API server does."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.pages: dict[str, list[Object]] = {}

    def answer(self, request: Request, info: RequestInfo, kind: str) -> tuple[int, Object]:
        """HTTP status and document; `StatusError` when the answer is a Status."""
        match info.verb:
            case "create":
                return self._create(request, info, kind)
            case "get":
                return 200, self._store.get(info.collection, info.name)
            case "list":
                return 200, self._list(request, info, kind)
            case "update" | "patch":
                return 200, self._change(request, info)
            case _:
                return 200, self._delete(request, info)

    def _create(self, request: Request, info: RequestInfo, kind: str) -> tuple[int, Object]:
        obj = _document(request)
        api_version = "/".join(p for p in (info.collection.group, info.version) if p)
        if (obj.get("apiVersion"), obj.get("kind")) != (api_version, kind):
            wanted = f"{api_version}, Kind={kind}"
            raise StatusError(400, "BadRequest", f"the data is not of the expected {wanted}")
        return 201, self._store.create(
            info.collection, obj, dry_run=request.query.get("dryRun") == "All"
        )

    def _list(self, request: Request, info: RequestInfo, kind: str) -> Object:
        limit = int(request.query.get("limit") or 0)
        token = request.query.get("continue", "")
        if not token:
            matches = matcher(
                request.query.get("labelSelector", ""), request.query.get("fieldSelector", "")
            )
            objects = [each for each in self._store.list(info.collection) if matches(each)]
            version = str(self._store.version)
        elif token in self.pages:
            objects = self.pages.pop(token)
            version = token.split("-")[0]
        else:
            raise StatusError(410, "Expired", "The provided continue parameter is too old")
        meta = {"resourceVersion": version}
        if limit and len(objects) > limit:
            meta["continue"] = f"{version}-{len(objects) - limit}"
            meta["remainingItemCount"] = str(len(objects) - limit)
            self.pages[meta["continue"]] = objects[limit:]
            objects = objects[:limit]
        api_version = "/".join(p for p in (info.collection.group, info.version) if p)
        return {
            "kind": f"{kind}List",
            "apiVersion": api_version,
            "metadata": meta,
            "items": objects,
        }

    def _change(self, request: Request, info: RequestInfo) -> Object:
        change = _document(request)
        old = self._store.get(info.collection, info.name)
        if info.sub == "status":
            change = {"status": change.get("status")}
        elif "status" in old and request.method == "PUT":
            change["status"] = old["status"]
        if request.method == "PATCH" or info.sub == "status":
            return self._store.patch(info.collection, info.name, change)
        return self._store.replace(info.collection, info.name, change)

    def _delete(self, request: Request, info: RequestInfo) -> Object:
        if not info.name:
            raise StatusError(405, "MethodNotAllowed", "the server does not allow this method")
        options = _document(request) if request.body else {}
        policy = options.get("propagationPolicy") or request.query.get("propagationPolicy")
        obj = self._store.delete(
            info.collection,
            info.name,
            uid=(options.get("preconditions") or {}).get("uid", ""),
            foreground=policy == "Foreground",
        )
        if info.collection.plural == "pods" or obj["metadata"].get("deletionTimestamp"):
            return obj
        details = {"name": info.name, "kind": group_resource(info.collection)}
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}


def review(request: Request, denied: set[tuple[str, str]]) -> tuple[int, Object]:
    """Answer a SelfSubjectAccessReview."""
    attributes = _document(request)["spec"]["resourceAttributes"]
    plural = "/".join(p for p in (attributes["resource"], attributes.get("subresource")) if p)
    full = ".".join(p for p in (plural, attributes.get("group")) if p)
    allowed = (attributes["verb"], full) not in denied
    return 201, {**_document(request), "status": {"allowed": allowed}}


def _document(request: Request) -> Any:
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise StatusError(400, "BadRequest", f"the body is not JSON: {error}") from error
