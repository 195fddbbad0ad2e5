"""Objects with resourceVersions, their history, and who watches it."""

import asyncio
import copy
import datetime
import itertools
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Object = dict[str, Any]
START = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


class Collection(NamedTuple):
    """A resource in a namespace."""

    group: str
    plural: str
    namespace: str


class StatusError(Exception):
    """What the API server answers instead: HTTP status, reason, message."""

    def __init__(self, status: int, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details


@dataclass(eq=False)
class Watch:
    """One open watch: the events that wait to be sent; None closes it cleanly."""

    collection: Collection
    matches: Callable[[Object], bool]
    events: "asyncio.Queue[Object | None]" = field(default_factory=asyncio.Queue)

    def notify(self, old: Object | None, new: Object | None) -> None:
        """Turn a change into the event that this selector sees."""
        was = old is not None and self.matches(old)
        now = new is not None and self.matches(new)
        if now:
            self.events.put_nowait({"type": "MODIFIED" if was else "ADDED", "object": new})
        elif was:
            # A watch tells a leaving object's last state, with the version of its leaving.
            self.events.put_nowait({"type": "DELETED", "object": new or old})


class Store:
    """All objects of the server.

    Attributes:
        version: the newest resourceVersion.
        oldest: watching from an older version than this is answered 410.
        hold_deletions: objects deleted in the foreground stay until `remove` is called.
    """

    def __init__(self) -> None:
        self.version = 1000
        self.oldest = 0
        self.hold_deletions = False
        self.watches: set[Watch] = set()
        self._objects: dict[Collection, dict[str, Object]] = {}
        self._history: list[tuple[int, Collection, Object | None, Object | None]] = []
        self._uids = itertools.count(1)
        self._began = asyncio.get_running_loop().time()

    def now(self) -> datetime.datetime:
        """The server's clock; it goes with the loop's."""
        return START + datetime.timedelta(seconds=asyncio.get_running_loop().time() - self._began)

    def stamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, collection: Collection, name: str) -> Object | None:
        return self._objects.get(collection, {}).get(name)

    def get(self, collection: Collection, name: str) -> Object:
        obj = self.find(collection, name)
        if obj is None:
            raise not_found(collection, name)
        return obj

    def list(self, collection: Collection) -> list[Object]:
        """All objects; in all namespaces when the collection's is empty."""
        return [
            obj
            for key, objects in sorted(self._objects.items())
            if key[:2] == collection[:2] and collection.namespace in ("", key.namespace)
            for _, obj in sorted(objects.items())
        ]

    def create(self, collection: Collection, obj: Object, *, dry_run: bool = False) -> Object:
        new = copy.deepcopy(obj)
        meta = new.setdefault("metadata", {})
        number = next(self._uids)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta['generateName']}{number:05x}"
        if not meta.get("name"):
            raise StatusError(422, "Invalid", "metadata.name: Required value: name is required")
        if self.find(collection, meta["name"]):
            full = group_resource(collection)
            raise StatusError(409, "AlreadyExists", f'{full} "{meta["name"]}" already exists')
        meta["namespace"] = collection.namespace
        meta["uid"] = str(uuid.UUID(int=number))
        meta["creationTimestamp"] = self.stamp()
        meta["generation"] = 1
        if not dry_run:
            self._put(collection, meta["name"], None, new)
        return new

    def replace(self, collection: Collection, name: str, obj: Object) -> Object:
        old = self.get(collection, name)
        new = copy.deepcopy(obj)
        given = new["metadata"].get("resourceVersion")
        if given and given != old["metadata"]["resourceVersion"]:
            raise StatusError(
                409, "Conflict", "the object has been modified; please apply your changes"
            )
        for key in ("uid", "creationTimestamp", "namespace", "name", "deletionTimestamp"):
            if key in old["metadata"]:
                new["metadata"][key] = old["metadata"][key]
        return self._put(collection, name, old, new)

    def patch(self, collection: Collection, name: str, change: Object) -> Object:
        """Apply a JSON merge patch (RFC 7386)."""
        return self.replace(collection, name, _merge(self.get(collection, name), change))

    def delete(
        self, collection: Collection, name: str, *, uid: str = "", foreground: bool = False
    ) -> Object:
        obj = self.get(collection, name)
        own = obj["metadata"]["uid"]
        if uid and uid != own:
            raise StatusError(
                409,
                "Conflict",
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {own}",
            )
        if foreground or obj["metadata"].get("finalizers"):
            new = copy.deepcopy(obj)
            new["metadata"].setdefault("deletionTimestamp", self.stamp())
            if foreground:
                new["metadata"]["finalizers"] = ["foregroundDeletion"]
            obj = self._put(collection, name, obj, new)
            if foreground and not self.hold_deletions:
                asyncio.get_running_loop().call_soon(self.remove, collection, name, own)
            return obj
        return self.remove(collection, name, own)

    def finish_deletion(self, collection: Collection, name: str) -> Object:
        """Delete again, without grace, as a kubelet does when a pod's containers have ended.

        The API server moves deletionTimestamp to the time of this request before it removes it.
        """
        old = self.get(collection, name)
        new = copy.deepcopy(old)
        new["metadata"] |= {"deletionTimestamp": self.stamp(), "deletionGracePeriodSeconds": 0}
        self._put(collection, name, old, new)
        return self.remove(collection, name)

    def remove(self, collection: Collection, name: str, uid: str = "") -> Object:
        """Take an object away, and what it owns, as the garbage collector does."""
        obj = self.get(collection, name)
        own = obj["metadata"]["uid"]
        if uid and uid != own:
            return obj
        for key, objects in list(self._objects.items()):
            for each in list(objects.values()):
                owners = each["metadata"].get("ownerReferences") or ()
                if any(owner["uid"] == own for owner in owners):
                    self.remove(key, each["metadata"]["name"])
        last = copy.deepcopy(obj)
        del self._objects[collection][name]
        self._record(collection, last, None)
        return last

    def compact(self) -> None:
        """Forget the history: whoever watches from an older version has to list again."""
        self.oldest = self.version = self.version + 1

    def watch(
        self, collection: Collection, matches: Callable[[Object], bool], since: int | None
    ) -> Watch:
        """Open a watch; without a version it starts with what there is."""
        watch = Watch(collection, matches)
        if since is None:
            for obj in self.list(collection):
                watch.notify(None, obj)
        elif since < self.oldest:
            raise StatusError(410, "Expired", f"too old resource version: {since} ({self.oldest})")
        else:
            for version, key, old, new in self._history:
                if version > since and _covers(collection, key):
                    watch.notify(old, new)
        self.watches.add(watch)
        return watch

    def _put(self, collection: Collection, name: str, old: Object | None, new: Object) -> Object:
        self._objects.setdefault(collection, {})[name] = new
        self._record(collection, old, new)
        return new

    def _record(self, collection: Collection, old: Object | None, new: Object | None) -> None:
        self.version += 1
        changed = new if new is not None else old
        assert changed is not None
        changed["metadata"]["resourceVersion"] = str(self.version)
        self._history.append((self.version, collection, old, new))
        for watch in self.watches:
            if _covers(watch.collection, collection):
                watch.notify(old, new)


def group_resource(collection: Collection) -> str:
    """Such as `pytorchjobs.kubeflow.org`."""
    return ".".join(part for part in (collection.plural, collection.group) if part)


def not_found(collection: Collection, name: str) -> StatusError:
    return StatusError(
        404, "NotFound", f'{group_resource(collection)} "{name}" not found', name=name
    )


def _covers(wide: Collection, one: Collection) -> bool:
    return wide[:2] == one[:2] and wide.namespace in ("", one.namespace)


def _merge(old: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return json.loads(json.dumps(change))
    new = dict(copy.deepcopy(old)) if isinstance(old, dict) else {}
    for key, value in change.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = _merge(new.get(key), value)
    return new
