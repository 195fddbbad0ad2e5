"""The Warning events about a job and its objects.

Times are compared as times: as text, `05.9Z` sorts before `05Z`, and both forms occur.
"""

import datetime
import re

from dlf.manifest.meta import parse_time
from dlf.manifest.observed import Event

_REFUSALS = re.compile(r".*FailedValidation|ValidationError")
# Warnings that stop no pod: the image may be there, or need no secret, and a pull that does fail
# says so itself. The kubelet cuts a resolv.conf with more than three servers, and goes on.
_HARMLESS = {"FailedToRetrieveImagePullSecret", "DNSConfigForming"}


class WarningEvents:
    """The newest warning about each object of one job.

    Args:
        job: the job's name; all that belongs to it has a name that begins so.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._newest: dict[str, Event] = {}

    def observe(self, event: Event) -> None:
        """Take note of an event of the namespace."""
        name = event.involved_object.name
        if name != self._job and not name.startswith(f"{self._job}-"):
            return
        if event.reason in _HARMLESS:
            return
        known = self._newest.get(name)
        if known is None or event_order(event) >= event_order(known):
            self._newest[name] = event

    def for_object(self, name: str) -> str:
        """The newest warning about the object with this name, in one line, or ""."""
        event = self._newest.get(name)
        return describe_event(event) if event else ""

    def others(self, names: set[str]) -> list[str]:
        """The newest warnings about all objects but these: the job, its PodGroup, deleted pods."""
        return [describe_event(event) for name, event in self._newest.items() if name not in names]

    @property
    def refusal(self) -> str:
        """The event by which the operator refuses the job's spec, or "".

        training-operator and mpi-operator report an invalid spec by an event only, not in the
        job's status.
        """
        event = self._newest.get(self._job)
        refused = event and _REFUSALS.fullmatch(event.reason or "")
        return describe_event(event) if event and refused else ""


def event_time(event: Event) -> str:
    """The newest of the times that the event has: RFC 3339 in UTC, with or without a fraction."""
    seen = event.series.last_observed_time if event.series else None
    times = (seen, event.last_timestamp, event.event_time, event.first_timestamp)
    return next(filter(None, times), event.metadata.creation_timestamp)


def event_order(event: Event) -> datetime.datetime:
    """`event_time` for comparisons; the earliest time there is for an event without one."""
    return parse_time(event_time(event)) or datetime.datetime.min.replace(tzinfo=datetime.UTC)


def describe_event(event: Event) -> str:
    """The event's reason and message in one line."""
    message = (event.message or "").strip().partition("\n")[0]
    return ": ".join(filter(None, (event.reason, message)))
