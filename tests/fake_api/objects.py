"""The answers that are one JSON document: everything but watches and logs."""

import json
from typing import Any

from fake_api.http import Request
from fake_api.selectors import matcher
from fake_api.store import Object, Refused, Store, resource
from fake_api.target import Target


class Objects:
    """Creates, reads and changes objects as the API server does."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.pages: dict[str, list[Object]] = {}

    def answer(self, request: Request, target: Target, kind: str) -> tuple[int, Object]:
        """HTTP status and document; `Refused` when the answer is a Status."""
        match target.verb:
            case "create":
                return self._create(request, target, kind)
            case "get":
                return 200, self._store.get(target.collection, target.name)
            case "list":
                return 200, self._list(request, target, kind)
            case "update" | "patch":
                return 200, self._change(request, target)
            case _:
                return 200, self._delete(request, target)

    def _create(self, request: Request, target: Target, kind: str) -> tuple[int, Object]:
        thing = _document(request)
        api_version = "/".join(p for p in (target.collection.group, target.version) if p)
        if (thing.get("apiVersion"), thing.get("kind")) != (api_version, kind):
            wanted = f"{api_version}, Kind={kind}"
            raise Refused(400, "BadRequest", f"the data is not of the expected {wanted}")
        return 201, self._store.create(
            target.collection, thing, dry_run=request.query.get("dryRun") == "All"
        )

    def _list(self, request: Request, target: Target, kind: str) -> Object:
        limit = int(request.query.get("limit") or 0)
        token = request.query.get("continue", "")
        if not token:
            matches = matcher(
                request.query.get("labelSelector", ""), request.query.get("fieldSelector", "")
            )
            things = [each for each in self._store.list(target.collection) if matches(each)]
            version = str(self._store.version)
        elif token in self.pages:
            things = self.pages.pop(token)
            version = token.split("-")[0]
        else:
            raise Refused(410, "Expired", "The provided continue parameter is too old")
        meta = {"resourceVersion": version}
        if limit and len(things) > limit:
            meta["continue"] = f"{version}-{len(things) - limit}"
            meta["remainingItemCount"] = str(len(things) - limit)
            self.pages[meta["continue"]] = things[limit:]
            things = things[:limit]
        api_version = "/".join(p for p in (target.collection.group, target.version) if p)
        return {
            "kind": f"{kind}List",
            "apiVersion": api_version,
            "metadata": meta,
            "items": things,
        }

    def _change(self, request: Request, target: Target) -> Object:
        change = _document(request)
        old = self._store.get(target.collection, target.name)
        if target.sub == "status":
            change = {"status": change.get("status")}
        elif "status" in old and request.method == "PUT":
            change["status"] = old["status"]
        if request.method == "PATCH" or target.sub == "status":
            return self._store.patch(target.collection, target.name, change)
        return self._store.replace(target.collection, target.name, change)

    def _delete(self, request: Request, target: Target) -> Object:
        if not target.name:
            raise Refused(405, "MethodNotAllowed", "the server does not allow this method")
        options = _document(request) if request.body else {}
        policy = options.get("propagationPolicy") or request.query.get("propagationPolicy")
        thing = self._store.delete(
            target.collection,
            target.name,
            uid=(options.get("preconditions") or {}).get("uid", ""),
            foreground=policy == "Foreground",
        )
        if target.collection.plural == "pods" or thing["metadata"].get("deletionTimestamp"):
            return thing
        details = {"name": target.name, "kind": resource(target.collection)}
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}


def review(request: Request, denied: set[tuple[str, str]]) -> tuple[int, Object]:
    """Answer a SelfSubjectAccessReview."""
    asked = _document(request)["spec"]["resourceAttributes"]
    plural = "/".join(p for p in (asked["resource"], asked.get("subresource")) if p)
    full = ".".join(p for p in (plural, asked.get("group")) if p)
    allowed = (asked["verb"], full) not in denied
    return 201, {**_document(request), "status": {"allowed": allowed}}


def _document(request: Request) -> Any:
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise Refused(400, "BadRequest", f"the body is not JSON: {error}") from error
