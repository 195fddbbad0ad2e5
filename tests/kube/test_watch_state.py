"""The state of list and watch: its table, and a model of a server that forgets."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dlf.kube.retry import backoff_seconds
from dlf.kube.watch_state import WatchState


def at(version: str, failures: int = 0) -> WatchState:
    state = WatchState()
    state.on_list(version)
    for _ in range(failures):
        state.on_failure()
    return state


def test_watch_state_starts_with_a_list() -> None:
    """The first request is a LIST, at once; what it returns is watched from its version."""
    state = WatchState()
    assert ("", 0.0) == (state.resource_version, state.delay_seconds)
    state.on_list("7")
    assert ("7", 0.0) == (state.resource_version, state.delay_seconds)


def test_watch_state_keeps_the_version_of_events_and_bookmarks() -> None:
    """Both move the version; only an event shows that the watch works."""
    state = at("7", failures=2)
    state.on_bookmark("9")
    assert ("9", 2) == (state.resource_version, state.failures)
    state.on_event("11")
    assert ("11", 0) == (state.resource_version, state.failures)


def test_watch_state_forgets_its_version_when_it_is_gone() -> None:
    """410 lists again at once; when it repeats, after a pause that grows."""
    state = at("7")
    waits = []
    for _ in range(4):
        state.on_gone()
        waits.append((state.resource_version, state.delay_seconds))
        state.on_list("7")
    assert [("", 0.0), ("", 1.6), ("", 3.2), ("", 6.4)] == waits


@pytest.mark.parametrize(
    ("open_seconds", "seen", "wait"),
    [
        pytest.param(300.0, False, 0.0, id="quiet but long"),
        pytest.param(0.1, True, 0.0, id="short with an event"),
        pytest.param(0.1, False, 0.8, id="short and empty"),
    ],
)
def test_watch_state_after_a_clean_end(open_seconds: float, seen: bool, wait: float) -> None:
    """A watch is opened again at once, unless it ended in under a second without an event."""
    state = at("7")
    if seen:
        state.on_event("8")
    state.on_end(open_seconds)
    assert ("8" if seen else "7", wait) == (state.resource_version, state.delay_seconds)


def test_watch_state_sees_events_of_one_watch_only() -> None:
    """The event of an earlier watch does not excuse a later one that ends at once."""
    state = at("7")
    state.on_event("8")
    state.on_end(0.1)
    state.on_end(0.1)
    assert 0.8 == state.delay_seconds


def test_watch_state_backs_off_on_failures() -> None:
    """Each failure in a row doubles the pause, up to half a minute; the version stays."""
    state = at("7")
    waits = []
    for _ in range(8):
        state.on_failure()
        waits.append(state.delay_seconds)
    assert [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] == waits
    assert "7" == state.resource_version


def test_watch_state_honours_retry_after() -> None:
    """The server's own wish is never undercut, even beyond the longest pause."""
    state = at("7")
    state.on_failure(retry_after=45.0)
    assert 45.0 == state.delay_seconds


def test_watch_state_forgives_a_watch_that_lived() -> None:
    """A connection that breaks every few minutes is not an outage."""
    state = at("7", failures=5)
    state.on_failure(open_seconds=200.0)
    assert (1, 0.8) == (state.failures, state.delay_seconds)


def test_backoff_does_not_overflow() -> None:
    """Days of failures still mean half a minute."""
    assert 30.0 == backoff_seconds(100_000)


HOW = ["on_end", "on_failure", "on_gone"]


class CompactingServer(RuleBasedStateMachine):
    """A server with a history that it forgets, and a consumer driven by the state."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 1
        self.oldest = 1
        self.states: dict[int, dict[str, int]] = {1: {}}
        self.history: list[tuple[int, str]] = []
        self.watch = WatchState()
        self.known: dict[str, int] = {}
        self.position: int | None = None

    def change(self, name: str, *, there: bool) -> None:
        state = dict(self.states[self.version])
        self.version += 1
        state.pop(name, None)
        if there:
            state[name] = self.version
        self.states[self.version] = state
        self.history.append((self.version, name))

    @rule(name=st.sampled_from("abc"))
    def put(self, name: str) -> None:
        self.change(name, there=True)

    @rule(name=st.sampled_from("abc"))
    def remove(self, name: str) -> None:
        if name in self.states[self.version]:
            self.change(name, there=False)

    @rule()
    def compact(self) -> None:
        self.oldest = self.version

    @precondition(lambda self: self.position is None)
    @rule()
    def ask(self) -> None:
        if not self.watch.resource_version:
            self.known = dict(self.states[self.version])
            self.watch.on_list(str(self.version))
        elif int(self.watch.resource_version) < self.oldest:
            self.watch.on_gone()
        else:
            self.position = int(self.watch.resource_version)

    @precondition(lambda self: self.position is not None)
    @rule()
    def deliver(self) -> None:
        for version, name in self.history:
            if version > (self.position or 0):
                self.position = version
                state = self.states[version]
                self.known.pop(name, None)
                if name in state:
                    self.known[name] = state[name]
                self.watch.on_event(str(version))
                return
        self.watch.on_bookmark(str(self.version))

    @precondition(lambda self: self.position is not None)
    @rule(open_seconds=st.sampled_from([0.0, 400.0]), how=st.sampled_from(HOW))
    def end(self, open_seconds: float, how: str) -> None:
        self.position = None
        if how == "on_gone":
            self.watch.on_gone()
        else:
            getattr(self.watch, how)(open_seconds)

    @invariant()
    def consumer_knows_the_state_of_its_version(self) -> None:
        if self.watch.resource_version:
            assert self.states[int(self.watch.resource_version)] == self.known

    @invariant()
    def waiting_is_bounded(self) -> None:
        assert 0.0 <= self.watch.delay_seconds <= 30.0


TestCompactingServer = CompactingServer.TestCase
TestCompactingServer.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
