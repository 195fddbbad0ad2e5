"""The cursor of list and watch: its table, and a model of a server that forgets."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dlf.kube.cursor import WatchCursor, pause


def at(version: str, failures: int = 0) -> WatchCursor:
    cursor = WatchCursor()
    cursor.listed(version)
    for _ in range(failures):
        cursor.failed()
    return cursor


def test_cursor_starts_with_a_list() -> None:
    """The first request is a LIST, at once; what it returns is watched from its version."""
    cursor = WatchCursor()
    assert ("", 0.0) == (cursor.version, cursor.wait)
    cursor.listed("7")
    assert ("7", 0.0) == (cursor.version, cursor.wait)


def test_cursor_keeps_the_version_of_events_and_bookmarks() -> None:
    """Both move the version; only an event shows that the watch works."""
    cursor = at("7", failures=2)
    cursor.bookmark("9")
    assert ("9", 2) == (cursor.version, cursor.failures)
    cursor.event("11")
    assert ("11", 0) == (cursor.version, cursor.failures)


def test_cursor_forgets_its_version_when_it_is_gone() -> None:
    """410 lists again at once; when it repeats, after a pause that grows."""
    cursor = at("7")
    waits = []
    for _ in range(4):
        cursor.gone()
        waits.append((cursor.version, cursor.wait))
        cursor.listed("7")
    assert [("", 0.0), ("", 1.6), ("", 3.2), ("", 6.4)] == waits


@pytest.mark.parametrize(
    ("lived", "seen", "wait"),
    [
        pytest.param(300.0, False, 0.0, id="quiet but long"),
        pytest.param(0.1, True, 0.0, id="short with an event"),
        pytest.param(0.1, False, 0.8, id="short and empty"),
    ],
)
def test_cursor_after_a_clean_end(lived: float, seen: bool, wait: float) -> None:
    """A watch is opened again at once, unless it ended in under a second without an event."""
    cursor = at("7")
    if seen:
        cursor.event("8")
    cursor.ended(lived)
    assert ("8" if seen else "7", wait) == (cursor.version, cursor.wait)


def test_cursor_sees_events_of_one_watch_only() -> None:
    """The event of an earlier watch does not excuse a later one that ends at once."""
    cursor = at("7")
    cursor.event("8")
    cursor.ended(0.1)
    cursor.ended(0.1)
    assert 0.8 == cursor.wait


def test_cursor_backs_off_on_failures() -> None:
    """Each failure in a row doubles the pause, up to half a minute; the version stays."""
    cursor = at("7")
    waits = []
    for _ in range(8):
        cursor.failed()
        waits.append(cursor.wait)
    assert [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] == waits
    assert "7" == cursor.version


def test_cursor_honours_retry_after() -> None:
    """The server's own wish is never undercut, even beyond the longest pause."""
    cursor = at("7")
    cursor.failed(retry_after=45.0)
    assert 45.0 == cursor.wait


def test_cursor_forgives_a_watch_that_lived() -> None:
    """A connection that breaks every few minutes is not an outage."""
    cursor = at("7", failures=5)
    cursor.failed(lived=200.0)
    assert (1, 0.8) == (cursor.failures, cursor.wait)


def test_pause_does_not_overflow() -> None:
    """Days of failures still mean half a minute."""
    assert 30.0 == pause(100_000)


class CompactingServer(RuleBasedStateMachine):
    """A server with a history that it forgets, and a consumer driven by the cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 1
        self.oldest = 1
        self.states: dict[int, dict[str, int]] = {1: {}}
        self.history: list[tuple[int, str]] = []
        self.cursor = WatchCursor()
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
        if not self.cursor.version:
            self.known = dict(self.states[self.version])
            self.cursor.listed(str(self.version))
        elif int(self.cursor.version) < self.oldest:
            self.cursor.gone()
        else:
            self.position = int(self.cursor.version)

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
                self.cursor.event(str(version))
                return
        self.cursor.bookmark(str(self.version))

    @precondition(lambda self: self.position is not None)
    @rule(lived=st.sampled_from([0.0, 400.0]), how=st.sampled_from(["ended", "failed", "gone"]))
    def end(self, lived: float, how: str) -> None:
        self.position = None
        if how == "gone":
            self.cursor.gone()
        else:
            getattr(self.cursor, how)(lived)

    @invariant()
    def consumer_knows_the_state_of_its_version(self) -> None:
        if self.cursor.version:
            assert self.states[int(self.cursor.version)] == self.known

    @invariant()
    def waiting_is_bounded(self) -> None:
        assert 0.0 <= self.cursor.wait <= 30.0


TestCompactingServer = CompactingServer.TestCase
TestCompactingServer.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
