"""What Warning events say."""

import re

from dlf.manifest.observed import Event

_REFUSALS = re.compile(r".*FailedValidation|ValidationError")
# Warnings that are in nobody's way: the image may be there, or need no secret; a pull that does
# fail says so itself. And a resolv.conf with more than three servers is cut, not refused.
_HARMLESS = {"FailedToRetrieveImagePullSecret", "DNSConfigForming"}


class Warnings:
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
        if known is None or moment(event) >= moment(known):
            self._newest[name] = event

    def of(self, name: str) -> str:
        """The newest warning about the object of this name, in one line, or ""."""
        event = self._newest.get(name)
        return text(event) if event else ""

    def beside(self, names: set[str]) -> list[str]:
        """The newest warnings about all other objects: the job itself, its PodGroup, gone pods."""
        return [text(event) for name, event in self._newest.items() if name not in names]

    @property
    def refusal(self) -> str:
        """The operator's word that it will never act on this job, or "".

        training-operator and mpi-operator tell a spec that they refuse in an event alone.
        """
        event = self._newest.get(self._job)
        refused = event and _REFUSALS.fullmatch(event.reason or "")
        return text(event) if event and refused else ""


def moment(event: Event) -> str:
    """The newest time that the event has, RFC 3339."""
    seen = event.series.last_observed_time if event.series else None
    times = (seen, event.last_timestamp, event.event_time, event.first_timestamp)
    return next(filter(None, times), event.metadata.creation_timestamp)


def text(event: Event) -> str:
    """The event's reason and message in one line."""
    message = (event.message or "").strip().partition("\n")[0]
    return ": ".join(filter(None, (event.reason, message)))
