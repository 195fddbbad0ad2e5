"""Image pulls that go wrong: the registry's words, and when there is no hope any more."""

import re

import msgspec

from dlf.diagnose.pod_state import waiting
from dlf.manifest.observed import Pod

GRACE = 300.0
"""Seconds for which a registry that says no is asked again: an image may still be on its way, a
pull secret about to be fixed. The kubelet tries about five times in it."""

_PULLING = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError"}
_NEVER = {"InvalidImageName", "ErrImageNeverPull"}  # no amount of waiting changes these
_NO = re.compile(
    r"not found|manifest unknown|does not exist|unauthorized|authentication required|denied"
    r"|forbidden|no match for platform",
    re.IGNORECASE,
)


_NEVER_YET = float("inf")


class _Pull(msgspec.Struct):
    since: float  # when the registry first said no
    words: str


class Pulls:
    """What is known of failing image pulls, by pod.

    The kubelet tells the registry's words only now and then, between the back-offs.
    """

    def __init__(self) -> None:
        self._failing: dict[str, _Pull] = {}
        self._earliest = _NEVER_YET

    def observe(self, pod: Pod, now: float) -> None:
        """Take note of a pod's state.

        Args:
            pod: as it is.
            now: seconds of the caller's clock.
        """
        found = waiting(pod)
        if not found or found.reason not in _PULLING | _NEVER:
            self._failing.pop(pod.metadata.name, None)
            return
        pull = self._failing.setdefault(pod.metadata.name, _Pull(_NEVER_YET, found.text))
        if found.reason in _NEVER:
            pull.since, pull.words = now - GRACE, found.text
        elif _NO.search(found.message):
            pull.since, pull.words = min(pull.since, now), found.text
        elif found.reason != "ImagePullBackOff":
            pull.since, pull.words = _NEVER_YET, found.text
        self._earliest = min(self._earliest, pull.since)

    def forget(self, pod: str) -> None:
        """The pod is gone."""
        self._failing.pop(pod, None)

    def words(self, pod: str) -> str:
        """Why this pod's image is not there, or ""."""
        pull = self._failing.get(pod)
        return pull.words if pull else ""

    @property
    def refused(self) -> bool:
        """Whether a registry has said no, so that `hopeless` is worth asking again later."""
        return self._earliest < _NEVER_YET

    def hopeless(self, now: float) -> str:
        """Which pod can never start, and why; "" while there is hope."""
        if now - self._earliest < GRACE:
            return ""
        self._earliest = min((pull.since for pull in self._failing.values()), default=_NEVER_YET)
        for pod, pull in self._failing.items():
            if now - pull.since >= GRACE:
                return f"pod {pod} can never start: {pull.words}"
        return ""
