"""Which instance a log stream belongs to: histories of status, streams and lines, as a table."""

from collections.abc import Callable

import pytest

from dlf.logs.instances import Instance, Target
from dlf.logs.log_end import EndBudget
from dlf.logs.ownership import ContainerLogs, InstanceLog, Ownership, Stream
from dlf.logs.tail_state import TailState

A = b"2026-01-02T03:04:05.000000001Z a\n"
B = b"2026-01-02T03:04:06.000000001Z b\n"
C = b"2026-01-02T03:04:07.000000001Z c\n"


class History:
    """Logs of one container, each known by the instance that it is read for.

    Attributes:
        printed: (instance, message) of every line that counted, in order.
        rewound: instances whose log had to be read again, in order.
        answer: whether the pod, when it is looked at, names the instance that a stream is for.
    """

    def __init__(self) -> None:
        self._logs = ContainerLogs(EndBudget())
        self._streams: dict[str, Stream] = {}
        self.printed: list[tuple[str, str]] = []
        self.rewound: list[str] = []
        self.answer = True

    def status(self, *instances: str, uid: str = "u") -> None:
        """The pod's status lists these instances, the last one as the current one."""
        current = [
            Instance("c", name, index, ended=name != instances[-1], previous=name != instances[-1])
            for index, name in enumerate(instances)
        ]
        for instance in self._logs.observe(uid, current).new:
            target = Target("p", "c", instance.id, uid=uid)
            self._logs.add(target, TailState(terminated=instance.ended, previous=instance.previous))

    def open(self, instance: str) -> None:
        """A stream is opened for this instance."""
        log = self._log(instance)
        log.state.opened = True
        log.position.reopen()
        self._streams[instance] = Stream(log)

    def read(self, instance: str, block: bytes, then: Callable[[], None] = lambda: None) -> bool:
        """The stream brings whole lines; `then` happens while they are withheld.

        Returns:
            Whether the stream is read on.
        """
        log, stream = self._log(instance), self._streams[instance]
        if not stream.is_current:
            return False
        batch = log.position.accept(block)
        if batch.gap:
            stream.withhold()
            then()
            if not (stream.may_be_ours and self.answer):
                return False
            stream.confirm()
        if log.ownership is not Ownership.PROVED and (older := self._logs.claim(log)):
            self.rewound.append(older.target.instance)
            return False
        self.printed += [(instance, message.decode()) for message in batch.messages()]
        return True

    def log(self, instance: str) -> InstanceLog:
        return self._log(instance)

    def _log(self, instance: str) -> InstanceLog:
        return next(log for log in self._logs if log.target.instance == instance)


def one_instance(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    assert it.read("1", B)


def reopened_where_it_broke(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.open("1")
    assert it.read("1", A + B)


def restart_told_in_time(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.status("1", "2")
    it.open("2")
    assert it.read("2", B)


def restart_told_after_its_log_was_read(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", B)  # of the second instance
    it.status("1", "2")
    it.open("2")
    assert not it.read("2", B)
    it.open("2")
    assert it.read("2", B + C)  # goes on where the first one's reader was
    it.open("1")
    assert it.read("1", A)


def newer_log_was_read_first(it: History) -> None:
    it.status("1")
    it.open("1")
    it.status("1", "2")
    it.open("2")
    assert it.read("2", B)
    assert not it.read("1", B)
    it.open("1")
    assert it.read("1", A)


def gap_that_the_pod_confirms(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.open("1")
    assert it.read("1", C)


def gap_while_the_restart_is_told(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.open("1")
    assert not it.read("1", C, then=lambda: it.status("1", "2"))
    it.open("2")
    assert it.read("2", C)
    it.open("1")
    assert it.read("1", A + B)


def gap_of_which_the_pod_names_another(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.open("1")
    it.answer = False
    assert not it.read("1", C)
    it.open("1")
    assert it.read("1", A + B)


def gap_confirmed_and_claimed_later(it: History) -> None:
    it.status("1")
    it.open("1")
    assert it.read("1", A)
    it.open("1")
    assert it.read("1", C)  # of the second instance; the status lags behind
    it.status("1", "2")
    it.open("2")
    assert not it.read("2", C)
    it.open("2")
    assert it.read("2", C)
    it.open("1")
    assert it.read("1", A + B)  # goes on before the gap


def pod_created_again(it: History) -> None:
    it.status("1", uid="u")
    it.open("1")
    assert it.read("1", B)  # of the second pod
    it.status("2", uid="v")
    it.open("2")
    assert not it.read("2", B)
    assert it.log("1").state.deleted


def stream_opened_for_a_position_that_was_wrong(it: History) -> None:
    it.status("1")
    it.open("1")
    it.log("1").rewind()
    assert not it.read("1", A)


@pytest.mark.parametrize(
    ("history", "printed", "rewound"),
    [
        (one_instance, "1a 1b", ""),
        (reopened_where_it_broke, "1a 1b", ""),
        (restart_told_in_time, "1a 2b", ""),
        (restart_told_after_its_log_was_read, "1b 2c 1a", "1"),
        (newer_log_was_read_first, "2b 1a", "1"),
        (gap_that_the_pod_confirms, "1a 1c", ""),
        (gap_while_the_restart_is_told, "1a 2c 1b", ""),
        (gap_of_which_the_pod_names_another, "1a 1b", ""),
        (gap_confirmed_and_claimed_later, "1a 1c 1b", "1"),
        (pod_created_again, "1b", "1"),
        (stream_opened_for_a_position_that_was_wrong, "", ""),
    ],
)
def test_each_line_is_printed_once_whoever_it_was_read_for(
    history: Callable[[History], None], printed: str, rewound: str
) -> None:
    """Every line once, and what was read for another instance is read again for its own."""
    it = History()
    history(it)
    assert printed.split() == [instance + message for instance, message in it.printed]
    assert rewound.split() == it.rewound


def test_last_lines_go_to_the_instance_that_they_belong_to() -> None:
    """The summary shows the end of the newest instance's log, whoever's reader has read it."""
    it = History()
    it.status("1")
    it.open("1")
    it.read("1", B)
    it.log("1").end.add([b"b"])
    it.status("1", "2")
    it.open("2")
    it.read("2", B)
    assert ([], [b"b"]) == (it.log("1").end.lines(), it.log("2").end.lines())


@pytest.mark.parametrize(
    ("first", "started", "dropped"),
    [
        pytest.param(A, "2026-01-02T03:04:06Z", "1", id="older than the next instance"),
        pytest.param(A, "2026-01-02T11:04:06+08:00", "1", id="older, in another zone"),
        pytest.param(A, "2026-01-02T03:04:05Z", "", id="perhaps the next one's"),
        pytest.param(A, "", "", id="nobody knows when the next one was started"),
        pytest.param(b"", "", "1", id="nothing was read"),
    ],
)
def test_logs_are_dropped_only_when_they_can_be_no_newer_ones(
    first: bytes, started: str, dropped: str
) -> None:
    """A log that is done with may turn out to be a newer one's, unless it began before that did."""
    logs = ContainerLogs(EndBudget())
    log = logs.add(Target("p", "c", "1", uid="u"), TailState(terminated=True))
    log.state.deleted = log.state.finished = True
    log.position.accept(first)
    logs.add(Target("p", "c", "2", uid="u"), TailState(terminated=False), started)
    current = [Instance("c", "2", 1, ended=False, started=started)]
    assert list(dropped) == [each.target.instance for each in logs.observe("u", current).dropped]


def test_an_instance_that_nobody_saw_keeps_no_older_log() -> None:
    """Nothing will be read for it; what comes for the next one that was seen has begun later."""
    logs = ContainerLogs(EndBudget())
    log = logs.add(Target("p", "c", "1", uid="u"), TailState(terminated=True))
    log.position.accept(A)
    log.state.deleted = log.state.finished = True
    logs.add(Target("p", "c", "2", uid="u", restart=1, unseen=1), TailState(terminated=True))
    third = Instance("c", "3", 2, ended=False, started="2026-01-02T03:04:06Z")
    logs.add(Target("p", "c", "3", uid="u"), TailState(terminated=False), third.started)
    dropped = logs.observe("u", [third]).dropped
    assert ["1", "2"] == [each.target.instance for each in dropped]


@pytest.mark.parametrize(
    ("begun", "doubtful"),
    [
        pytest.param("05 --", "1", id="may be the next one's"),
        pytest.param("05 -- 07", "1", id="may be the next one's, and a later one was read"),
        pytest.param("04 -- 07", "", id="older than the one that is gone"),
        pytest.param("04 ??", "1", id="nobody saw when the next one was started"),
        pytest.param("04/04 ??", "1", id="ended in the second in which what was read begins"),
        pytest.param("04/05 ??", "", id="ended after what was read began"),
        pytest.param("04/05 06 ??", "2", id="one of two ended after what was read for it began"),
        pytest.param("04 ?? 08 ??", "3 1", id="twice one that nobody saw"),
        pytest.param("04 --", "", id="older than the next instance"),
        pytest.param("05 06 --", "2 1", id="each may be the next one's"),
        pytest.param("04 06 --", "2", id="the older one is older than its next"),
        pytest.param("05 05 --", "", id="the newer one is older than its next"),
        pytest.param("05 -- --", "1", id="nothing was read of the one between"),
        pytest.param("-- --", "", id="nothing was read"),
    ],
)
def test_a_log_that_was_gone_leaves_older_ones_in_doubt(begun: str, doubtful: str) -> None:
    """Those that do not begin before the next instance was started, down to one that does.

    Instance 1 was started in second 4, 2 in second 5, and so on. The numbers say in which second
    the log read for each begins, and in which the instance ended; -- is a log that was gone, and ??
    that of an instance that nobody saw.
    """
    logs = ContainerLogs(EndBudget())
    for number, facts in enumerate(begun.split(), start=1):
        second, _, end = facts.partition("/")
        unseen = second == "??"
        started = "" if unseen else f"2026-01-02T03:04:0{3 + number}Z"
        ended_at = f"2026-01-02T03:04:{end}Z" if end else ""
        target = Target("p", "c", str(number), unseen=unseen)
        log = logs.add(target, TailState(terminated=True), started, ended_at)
        if second == "--":
            log.state.deleted = True
            log.state.start_stream()
        elif not unseen:
            log.position.accept(b"2026-01-02T03:04:%b.5Z x\n" % second.encode())
    assert doubtful.split() == [log.target.instance for log in logs.doubtful()]
    assert [] == logs.doubtful()  # each is told once
