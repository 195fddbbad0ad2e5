"""Image pulls that fail: the registry's message, and from when on a pod can never start."""

import re

import msgspec

from dlf.diagnose.pod_state import wait_reason
from dlf.manifest.observed import Pod

REFUSAL_GRACE_SECONDS = 300.0
"""How long a registry may refuse a pull before the pod counts as unstartable: the image may be on
its way, the pull secret about to be fixed. The kubelet tries about five times in it."""

_PULLING = {"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError"}
_NEVER = {"InvalidImageName", "ErrImageNeverPull"}  # no amount of waiting changes these
_REFUSED = re.compile(
    r"not found|manifest unknown|does not exist|unauthorized|authentication required|denied"
    r"|forbidden|no match for platform",
    re.IGNORECASE,
)


_NOT_REFUSED = float("inf")


class _FailingPull(msgspec.Struct):
    refused_since: float  # seconds; when the registry first refused it
    message: str


class ImagePulls:
    """What is known of failing image pulls, by pod.

    The kubelet shows the registry's message only between two back-offs, so it is remembered.
    """

    def __init__(self) -> None:
        self._failing: dict[str, _FailingPull] = {}
        self._earliest = _NOT_REFUSED

    def observe(self, pod: Pod, now: float) -> None:
        """Take note of a pod's state.

        Args:
            pod: as it is.
            now: seconds of the caller's clock.
        """
        found = wait_reason(pod)
        if not found or found.reason not in _PULLING | _NEVER:
            self._failing.pop(pod.metadata.name, None)
            return
        pull = self._failing.setdefault(pod.metadata.name, _FailingPull(_NOT_REFUSED, found.text))
        if found.reason in _NEVER:
            pull.refused_since, pull.message = now - REFUSAL_GRACE_SECONDS, found.text
        elif _REFUSED.search(found.message):
            pull.refused_since, pull.message = min(pull.refused_since, now), found.text
        elif found.reason != "ImagePullBackOff":
            pull.refused_since, pull.message = _NOT_REFUSED, found.text
        self._earliest = min(self._earliest, pull.refused_since)

    def forget(self, pod: str) -> None:
        """The pod was deleted."""
        self._failing.pop(pod, None)

    def message(self, pod: str) -> str:
        """Why this pod's image is not there, or ""."""
        pull = self._failing.get(pod)
        return pull.message if pull else ""

    @property
    def refused_since(self) -> float | None:
        """When a registry refused the first of these pulls, or None."""
        return self._earliest if self._earliest < _NOT_REFUSED else None

    def unstartable(self, now: float) -> str:
        """Which pod can never start, and why; "" while every pod may still start."""
        if now - self._earliest < REFUSAL_GRACE_SECONDS:
            return ""
        self._earliest = min(
            (pull.refused_since for pull in self._failing.values()), default=_NOT_REFUSED
        )
        for pod, pull in self._failing.items():
            if now - pull.refused_since >= REFUSAL_GRACE_SECONDS:
                return f"pod {pod} can never start: {pull.message}"
        return ""
