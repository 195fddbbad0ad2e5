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


class Refused(Exception):
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

    def see(self, old: Object | None, new: Object | None) -> None:
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
        thing = self.find(collection, name)
        if thing is None:
            raise missing(collection, name)
        return thing

    def list(self, collection: Collection) -> list[Object]:
        """All objects; in all namespaces when the collection's is empty."""
        return [
            thing
            for key, things in sorted(self._objects.items())
            if key[:2] == collection[:2] and collection.namespace in ("", key.namespace)
            for _, thing in sorted(things.items())
        ]

    def create(self, collection: Collection, thing: Object, *, dry_run: bool = False) -> Object:
        new = copy.deepcopy(thing)
        meta = new.setdefault("metadata", {})
        number = next(self._uids)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = f"{meta['generateName']}{number:05x}"
        if not meta.get("name"):
            raise Refused(422, "Invalid", "metadata.name: Required value: name is required")
        if self.find(collection, meta["name"]):
            full = resource(collection)
            raise Refused(409, "AlreadyExists", f'{full} "{meta["name"]}" already exists')
        meta["namespace"] = collection.namespace
        meta["uid"] = str(uuid.UUID(int=number))
        meta["creationTimestamp"] = self.stamp()
        meta["generation"] = 1
        if not dry_run:
            self._put(collection, meta["name"], None, new)
        return new

    def replace(self, collection: Collection, name: str, thing: Object) -> Object:
        old = self.get(collection, name)
        new = copy.deepcopy(thing)
        given = new["metadata"].get("resourceVersion")
        if given and given != old["metadata"]["resourceVersion"]:
            raise Refused(
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
        thing = self.get(collection, name)
        own = thing["metadata"]["uid"]
        if uid and uid != own:
            raise Refused(
                409,
                "Conflict",
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {own}",
            )
        if foreground or thing["metadata"].get("finalizers"):
            new = copy.deepcopy(thing)
            new["metadata"].setdefault("deletionTimestamp", self.stamp())
            if foreground:
                new["metadata"]["finalizers"] = ["foregroundDeletion"]
            thing = self._put(collection, name, thing, new)
            if foreground and not self.hold_deletions:
                asyncio.get_running_loop().call_soon(self.remove, collection, name, own)
            return thing
        return self.remove(collection, name, own)

    def remove(self, collection: Collection, name: str, uid: str = "") -> Object:
        """Take an object away, and what it owns, as the garbage collector does."""
        thing = self.get(collection, name)
        own = thing["metadata"]["uid"]
        if uid and uid != own:
            return thing
        for key, things in list(self._objects.items()):
            for each in list(things.values()):
                owners = each["metadata"].get("ownerReferences") or ()
                if any(owner["uid"] == own for owner in owners):
                    self.remove(key, each["metadata"]["name"])
        last = copy.deepcopy(thing)
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
            for thing in self.list(collection):
                watch.see(None, thing)
        elif since < self.oldest:
            raise Refused(410, "Expired", f"too old resource version: {since} ({self.oldest})")
        else:
            for version, key, old, new in self._history:
                if version > since and _covers(collection, key):
                    watch.see(old, new)
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
                watch.see(old, new)


def resource(collection: Collection) -> str:
    """Such as `pytorchjobs.kubeflow.org`."""
    return ".".join(part for part in (collection.plural, collection.group) if part)


def missing(collection: Collection, name: str) -> Refused:
    return Refused(404, "NotFound", f'{resource(collection)} "{name}" not found', name=name)


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
