"""The newest warning about each object of a job."""

import pytest

from dlf.diagnose.events import WarningEvents
from dlf.manifest.observed import Event, Meta, ObjectReference


def event(reason: str, *, last: str | None = None, precise: str | None = None) -> Event:
    """A warning about the job's first pod, with the time of an old or a new recorder."""
    return Event(
        metadata=Meta(name=reason),
        involved_object=ObjectReference(name="job-worker-0"),
        type="Warning",
        reason=reason,
        last_timestamp=last,
        event_time=precise,
    )


@pytest.mark.parametrize("order", [1, -1])
def test_times_with_and_without_a_fraction_are_compared_as_times(order: int) -> None:
    """As text, `05.9Z` sorts before `05Z`: the older warning would win."""
    older = event("FailedMount", last="2026-01-01T00:00:05Z")
    newer = event("FailedScheduling", precise="2026-01-01T00:00:05.900000Z")
    warnings = WarningEvents("job")

    for each in [older, newer][::order]:
        warnings.observe(each)

    assert warnings.for_object("job-worker-0") == "FailedScheduling"


def test_event_without_a_time_is_older_than_any_other() -> None:
    """Every recorder writes one; what has none is no news."""
    warnings = WarningEvents("job")

    for each in (event("Known", last="2026-01-01T00:00:05Z"), event("Strange")):
        warnings.observe(each)

    assert warnings.for_object("job-worker-0") == "Known"
