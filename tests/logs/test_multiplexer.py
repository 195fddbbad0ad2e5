"""The multiplexer against a server whose streams break in every way that users reported."""

import asyncio
import os
import random
from pathlib import Path

import pytest
from fake_api import Cut, FakeApi
from fake_api.logs import ContainerLog
from kube.scenario import scenario
from logs.fixture import NAMESPACE, MultiplexerFixture, Output
from typing_extensions import override

from dlf.kube.client import KubeClient
from dlf.logs.log_options import LogOptions
from dlf.logs.writer import HIGH_WATER_BYTES, OutputClosed, Writer
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod

CONTAINERS = 50
SECONDS = 120


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(count)]


async def settle() -> None:
    """Until nothing can go on without time passing, and a second more."""
    await asyncio.sleep(1)


def cut_at_random(log: ContainerLog, most: int, seed: int) -> None:
    """Every stream of this log breaks after up to `most` bytes, one in four cleanly."""
    chance = random.Random(seed)
    log.cuts.extend(Cut(chance.randrange(most), clean=not chance.randrange(4)) for _ in range(5000))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("cuts_per_second", "most_bytes"),
    [
        pytest.param(0, 0, id="0/s"),
        pytest.param(1, 9000, id="1/s"),
        pytest.param(10, 1100, id="10/s"),
    ],
)
@scenario
async def test_every_line_comes_once_from_fifty_containers(
    api: FakeApi, client: KubeClient, cuts_per_second: int, most_bytes: int
) -> None:
    """Streams are cut at random bytes for two minutes: every number once, in order."""
    fixture = MultiplexerFixture(api, client)
    chance = random.Random(7)
    api.split = lambda data: _pieces(data, chance)
    pods = [f"p-{number}" for number in range(CONTAINERS)]
    written = dict.fromkeys(pods, 0)
    for number, pod in enumerate(pods):
        if most_bytes:
            cut_at_random(fixture.log(pod), most_bytes, number)
        has_run_long = number % 2 == 0
        if has_run_long:
            fixture.log(pod).write(*numbered(number))
            written[pod] = number
        fixture.start(pod, has_run_long=has_run_long)
    for _ in range(SECONDS):
        for pod in pods:
            for _ in range(chance.randrange(10)):
                fixture.log(pod).write(f"line {written[pod]}")
                written[pod] += 1
        await asyncio.sleep(1)
    cuts = len([request for request in api.requests if request.path.endswith("/log")]) - CONTAINERS
    for pod in pods:
        fixture.log(pod).cuts.clear()
        fixture.end(pod)
    assert await fixture.multiplexer.drain(120)
    await fixture.multiplexer.aclose()
    assert {pod: numbered(count) for pod, count in written.items()} == {
        pod: fixture.output.of(pod) for pod in pods
    }
    assert ([], [], []) == (
        fixture.notices,
        fixture.multiplexer.unread,
        fixture.multiplexer.incomplete,
    )
    assert cuts_per_second * SECONDS * 0.6 <= cuts


def _pieces(data: bytes, chance: random.Random) -> list[bytes]:
    at = chance.randrange(len(data) + 1)
    return [data[:at], data[at:]]


@scenario
async def test_logs_go_on_after_the_server_was_away_for_ten_minutes(
    api: FakeApi, client: KubeClient
) -> None:
    """What containers wrote while nobody could be asked comes when somebody can."""
    fixture = MultiplexerFixture(api, client)
    for pod in ("p-0", "p-1"):
        fixture.start(pod)
        fixture.log(pod).write(*numbered(3))
    await settle()
    await api.server.stop()
    for number in range(3, 603):
        await asyncio.sleep(1)
        fixture.log("p-0").write(f"line {number}")
        fixture.log("p-1").write(f"line {number}")
    fixture.end("p-1", show=False)
    await api.server.start()
    await asyncio.sleep(60)
    assert numbered(603) == fixture.output.of("p-0")
    fixture.show("p-1")
    assert await fixture.multiplexer.drain(60)
    assert numbered(603) == fixture.output.of("p-1")
    await fixture.multiplexer.aclose()
    assert [] == fixture.notices


@scenario
async def test_a_stream_that_ends_cleanly_is_reopened_while_its_container_runs(
    api: FakeApi, client: KubeClient
) -> None:
    """Kubelet cuts each stream after four hours; the next one goes on at the next line."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    for after in (200, 300, 400):
        log.cuts.append(Cut(after, clean=True))
    for number in range(40):
        log.write(f"line {number}")
        await settle()
    assert numbered(40) == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_stalled_stream_is_reopened(api: FakeApi, client: KubeClient) -> None:
    """A stream that a log rotation stalled for ever is opened again after two minutes."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.write("before")
    await settle()
    log.silent = True
    log.write("while stalled")
    await settle()
    assert ["before"] == fixture.output.of("p-0")
    log.silent = False  # for new streams: nobody wakes the old one
    await asyncio.sleep(130)
    assert ["before", "while stalled"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_stalled_stream_is_found_among_silent_ones(
    api: FakeApi, client: KubeClient
) -> None:
    """Looks are shared, and the stream that spoke last is looked at first."""
    fixture = MultiplexerFixture(api, client)
    for number in range(30):
        fixture.start(f"p-{number}")
    await asyncio.sleep(1200)
    log = fixture.log("p-7")
    log.write("before")
    await settle()
    log.silent = True
    log.write("while stalled")
    await settle()
    log.silent = False
    before = len(api.requests)
    await asyncio.sleep(370)
    assert ["before", "while stalled"] == fixture.output.of("p-7")
    assert len(api.requests) - before <= 4
    await fixture.multiplexer.aclose()


@scenario
async def test_silence_costs_less_the_longer_it_lasts(api: FakeApi, client: KubeClient) -> None:
    """A container that says nothing is asked again after 2, 4, 8 and then 16 minutes."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    await asyncio.sleep(1900)
    assert [120, 360, 840, 1800] == pytest.approx([each.at for each in api.requests[1:]], abs=10)
    fixture.log("p-0").write("at last")
    await settle()
    assert ["at last"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_rotation_that_outran_us_is_told(api: FakeApi, client: KubeClient) -> None:
    """Lines that are gone when the server comes back are a notice with their time span."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.write("a", at="2026-01-02T03:04:05.000000001Z")
    log.write("b", at="2026-01-02T03:04:06.000000001Z")
    await settle()
    await api.server.stop()
    log.write("lost", at="2026-01-02T03:04:07.000000001Z")
    log.write("c", at="2026-01-02T03:04:08.000000001Z")
    del log.rows[:3]
    await api.server.start()
    await asyncio.sleep(60)
    assert ["a", "b", "c"] == fixture.output.of("p-0")
    [notice] = fixture.notices
    assert "p-0/pytorch" in notice
    assert "between 2026-01-02T03:04:06.000000001Z and 2026-01-02T03:04:08.000000001Z" in notice
    await fixture.multiplexer.aclose()


@scenario
async def test_all_instances_of_a_restarted_container_are_printed(
    api: FakeApi, client: KubeClient
) -> None:
    """Two restarts in two seconds: three logs, each whole, and a word at each restart."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    fixture.log("p-0").write("first 0", "first 1")
    await settle()
    fixture.log("p-0").write("first 2")
    second = fixture.restart("p-0")
    second.write("second 0", "second 1")
    await settle()
    third = fixture.restart("p-0")
    third.write("third 0")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    lines = fixture.output.of("p-0")
    for word, count in (("first", 3), ("second", 2), ("third", 1)):
        assert [f"{word} {number}" for number in range(count)] == [
            line for line in lines if line.startswith(word)
        ]
    assert 6 == len(lines)
    assert 2 == len([notice for notice in fixture.notices if "restart" in notice])
    await fixture.multiplexer.aclose()


@scenario
async def test_an_instance_that_was_never_seen_running_is_read_as_previous(
    api: FakeApi, client: KubeClient
) -> None:
    """The pod is first seen after its restart: the log of the crash before is printed too."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0", show=False)
    fixture.log("p-0").write("crash")
    fixture.restart("p-0").write("again")
    await settle()
    assert ["again", "crash"] == sorted(fixture.output.of("p-0"))
    await fixture.multiplexer.aclose()


@scenario
async def test_instances_that_came_and_went_unseen_are_named(
    api: FakeApi, client: KubeClient
) -> None:
    """kubelet keeps the log of one instance before the current one; older ones are told as lost.

    They are 0 and 1 at the first look, which finds 2 and 3, and 5 at the third: it finds 6 and 7.
    """
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0", show=False)
    for _ in range(2):
        fixture.restart("p-0", show=False)
    fixture.restart("p-0")
    await settle()
    fixture.restart("p-0")
    await settle()
    for _ in range(2):
        fixture.restart("p-0", show=False)
    fixture.restart("p-0")
    await settle()
    assert [
        "p-0/pytorch (each of restarts 0 to 1): gone before it was read",
        "p-0/pytorch (restart 5): gone before it was read",
    ] == fixture.multiplexer.unread
    begun = [f"p-0/pytorch (restart {number})" for number in (2, 3, 4, 6, 7)]
    told = [line.partition(": ") for line in fixture.notices]
    assert begun == [name for name, _, words in told if "begins anew" in words]
    await fixture.multiplexer.aclose()


@scenario
async def test_a_restart_that_the_watch_tells_late_mixes_no_logs(
    api: FakeApi, client: KubeClient
) -> None:
    """The stream opened for the first instance was the second's: both logs come, each once."""
    fixture = MultiplexerFixture(api, client)
    log = fixture.log("p-0")
    log.write("first 0", at="2026-01-02T03:04:05.000000001Z")
    fixture.start("p-0")
    second = fixture.restart("p-0", show=False)
    second.write("second 0", at="2026-01-02T03:04:06.000000001Z")
    await settle()
    fixture.show("p-0")
    await asyncio.sleep(10)
    second.write("second 1", at="2026-01-02T03:04:17.000000001Z")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0", "second 0", "second 1"] == sorted(fixture.output.of("p-0"))
    await fixture.multiplexer.aclose()
    assert ([], []) == (fixture.multiplexer.unread, fixture.multiplexer.incomplete)


@scenario
async def test_a_restart_that_was_read_to_its_end_instead_of_the_log_asked_for(
    api: FakeApi, client: KubeClient
) -> None:
    """Two restarts, told late: the first instance's log is gone, although a stream for it ended."""
    fixture = MultiplexerFixture(api, client)
    fixture.log("p-0").write("first 0")
    fixture.start("p-0", show=False)
    shown = fixture.pod("p-0")
    fixture.restart("p-0", show=False).write("second 0")
    fixture.restart("p-0", show=False).write("third 0")
    fixture.end("p-0", show=False)
    fixture.multiplexer.observe(shown, "worker", 0)
    await asyncio.sleep(1)
    fixture.show("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["second 0", "third 0"] == sorted(fixture.output.of("p-0"))
    assert [b"third 0"] == fixture.multiplexer.last_lines("p-0", "pytorch")
    assert ["p-0/pytorch: gone before it was read"] == fixture.multiplexer.unread
    await fixture.multiplexer.aclose()


@pytest.mark.parametrize(
    ("starts", "also_gone"),
    [
        pytest.param((5, 6, 7, 8), ["p-0/pytorch"], id="started before the line that was read"),
        pytest.param((5, 8, 8, 8), [], id="started after the line that was read"),
        pytest.param((), ["p-0/pytorch"], id="nobody knows when they were started"),
    ],
)
@scenario
async def test_a_log_that_may_have_been_read_for_an_older_instance_leaves_both_in_doubt(
    api: FakeApi, client: KubeClient, starts: tuple[int, ...], also_gone: list[str]
) -> None:
    """Three restarts, each told when the next one has begun: each log was read for the one before.

    At the last one that shows, and the log of restart 1 cannot be asked for any more. What was read
    for restart 0 may be it: only when the instances were started tells.
    """
    fixture = MultiplexerFixture(api, client)
    fixture.log("p-0").write("log 0", at="2026-01-02T03:04:05.000000001Z")
    fixture.start("p-0", show=False)
    statuses = [fixture.pod("p-0")]
    for number in (1, 2, 3):
        fixture.begin_log("p-0").write(f"log {number}", at=f"2026-01-02T03:04:0{5 + number}.5Z")
        started = {"startedAt": f"2026-01-02T03:04:0{starts[number]}Z"} if starts else {}
        fixture.tell_restart("p-0", show=False, **started)
        statuses.append(fixture.pod("p-0"))
        fixture.multiplexer.observe(statuses[-2], "worker", 0)
        await settle()
    fixture.multiplexer.observe(statuses[-1], "worker", 0)
    await settle()
    assert ["log 1", "log 2", "log 3"] == sorted(fixture.output.of("p-0"))
    gone = ["p-0/pytorch (restart 1)", *also_gone]
    assert gone == [fact.partition(": ")[0] for fact in fixture.multiplexer.unread]
    await fixture.multiplexer.aclose()


@pytest.mark.parametrize("is_told", [False, True], ids=["unseen", "seen"])
@scenario
async def test_a_pod_created_again_under_its_name_is_printed_once(
    api: FakeApi, client: KubeClient, is_told: bool
) -> None:
    """Its log is asked for by name: what the tail of the pod before it read is not read again."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0", show=False)
    shown = fixture.pod("p-0")
    fixture.delete("p-0", show=False)
    again = fixture.begin_log("p-0")
    again.write("again 0", at="2026-01-02T03:04:05.000000001Z")
    again.write_raw(b"aga", at="2026-01-02T03:04:07.000000001Z")
    fixture.start("p-0", show=False)
    fixture.multiplexer.observe(shown, "worker", 0)
    await asyncio.sleep(1)
    if is_told:
        fixture.multiplexer.pod_deleted("p-0")
    fixture.show("p-0")
    await asyncio.sleep(1)
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["again 0", "aga"] == fixture.output.of("p-0")
    assert ["p-0/pytorch: gone before it was read"] == fixture.multiplexer.unread
    await fixture.multiplexer.aclose()
    assert [] == fixture.multiplexer.incomplete


@scenario
async def test_a_pod_that_waits_to_start_again_ends_the_log_before(
    api: FakeApi, client: KubeClient
) -> None:
    """The new pod has no container yet, and nobody saw the old one go: its log is named."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    fixture.log("p-0").write("first 0")
    await settle()
    fixture.delete("p-0", show=False)
    await api.server.drop()
    fixture.start("p-0", show=False)
    api.store.patch(
        api.collection("pods", NAMESPACE),
        "p-0",
        {"status": {"phase": "Pending", "containerStatuses": []}},
    )
    fixture.show("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0"] == fixture.output.of("p-0")
    assert ["p-0/pytorch: gone before its end was read"] == fixture.multiplexer.incomplete
    await fixture.multiplexer.aclose()


@scenario
async def test_a_restart_between_two_streams_is_no_gap(api: FakeApi, client: KubeClient) -> None:
    """The reopened stream is the next instance's, before the watch says so: nothing is lost."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    first = fixture.log("p-0")
    first.cuts.append(Cut(after=60))
    first.write("first 0", at="2026-01-02T03:04:05.000000001Z")
    first.write("first 1", at="2026-01-02T03:04:05.000000002Z")
    second = fixture.restart("p-0", show=False)
    second.write("second 0", at="2026-01-02T03:04:06.000000001Z")
    await asyncio.sleep(2)
    fixture.show("p-0")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0", "first 1", "second 0"] == sorted(fixture.output.of("p-0"))
    assert [] == [notice for notice in fixture.notices if "missing" in notice]
    await fixture.multiplexer.aclose()


@scenario
async def test_a_repeated_line_is_no_last_line_of_the_report_again(
    api: FakeApi, client: KubeClient
) -> None:
    """A stream brings a printed line again, then one that is that line's beginning."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.cuts.append(Cut(after=35))
    log.write("abc", at="2026-01-02T03:04:05.000000001Z")
    log.write("a", at="2026-01-02T03:04:05.000000001Z")
    log.end()
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["abc", "a"] == fixture.output.of("p-0")
    assert [b"abc", b"a"] == fixture.multiplexer.last_lines("p-0", "pytorch")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_log_that_another_was_taken_for_is_not_finished_by_an_empty_rest(
    api: FakeApi, client: KubeClient
) -> None:
    """Nothing of the first log is as new as the second's lines, which were taken for its own."""
    fixture = MultiplexerFixture(api, client)
    fixture.log("p-0").write("first 0", at="2026-01-02T03:04:05.000000001Z")
    fixture.start("p-0")
    fixture.restart("p-0", show=False).write("second 0", at="2026-01-02T03:04:16.000000001Z")
    await settle()
    api.fail(verb="log", path=r"/log\?(?!.*previous)", times=3, status=500)
    fixture.show("p-0")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0", "second 0"] == sorted(fixture.output.of("p-0"))
    await fixture.multiplexer.aclose()


@scenario
async def test_a_restart_that_the_status_tells_late_is_printed_once(
    api: FakeApi, client: KubeClient
) -> None:
    """A kubelet that was cut off serves the next instance's log before it tells of the restart."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    first = fixture.log("p-0")
    first.cuts.append(Cut(after=60))
    first.write("first 0", at="2026-01-02T03:04:05.000000001Z")
    first.write("first 1", at="2026-01-02T03:04:05.000000002Z")
    await asyncio.sleep(0.1)
    second = fixture.begin_log("p-0")
    second.write("second 0", at="2026-01-02T03:04:06.000000001Z")
    await asyncio.sleep(20)
    assert ["first 0", "second 0"] == fixture.output.of("p-0")
    fixture.tell_restart("p-0")
    await asyncio.sleep(20)
    second.write("second 1", at="2026-01-02T03:04:37.000000001Z")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0", "second 0", "first 1", "second 1"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()
    assert ([], []) == (fixture.multiplexer.unread, fixture.multiplexer.incomplete)


@scenario
async def test_a_restart_that_the_watch_does_not_tell_mixes_no_logs(
    api: FakeApi, client: KubeClient
) -> None:
    """The watch is out of order for longer than a gap waits for it: the pod itself is asked.

    So it is, again and again, when our token is not accepted just then.
    """
    api.fail(verb="get", times=2, status=401)
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    fixture.log("p-0").write("first 0", at="2026-01-02T03:04:05.000000001Z")
    await settle()
    fixture.restart("p-0", show=False).write("second 0", at="2026-01-02T03:04:06.000000001Z")
    await asyncio.sleep(60)
    assert ["first 0"] == fixture.output.of("p-0")
    fixture.show("p-0")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first 0", "second 0"] == sorted(fixture.output.of("p-0"))
    assert [] == [notice for notice in fixture.notices if "missing" in notice]
    await fixture.multiplexer.aclose()


@scenario
async def test_a_gap_is_printed_where_pods_may_not_be_read(
    api: FakeApi, client: KubeClient
) -> None:
    """Then the watch has five seconds to tell, and no more."""
    api.denied = {("get", "pods")}
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.write("a", at="2026-01-02T03:04:05.000000001Z")
    await settle()
    log.write("b", at="2026-01-02T03:04:06.000000001Z")
    del log.rows[0]
    await api.server.drop()
    await asyncio.sleep(10)
    assert ["a", "b"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_pod_that_failed_before_it_was_seen_running_is_printed(
    api: FakeApi, client: KubeClient
) -> None:
    """From Pending to Failed in one event: the log is read all the same."""
    fixture = MultiplexerFixture(api, client)
    log = fixture.log("p-0")
    log.write("no such file")
    log.end()
    fixture.start("p-0")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(10)
    assert ["no such file"] == fixture.output.of("p-0")
    assert [b"no such file"] == fixture.multiplexer.last_lines("p-0", "pytorch")
    await fixture.multiplexer.aclose()


@scenario
async def test_a_pod_deleted_in_the_middle_of_a_line_keeps_what_it_said(
    api: FakeApi, client: KubeClient
) -> None:
    """What came of the last line is printed, and the log is named as incomplete."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    fixture.log("p-0").write("whole")
    await settle()
    fixture.log("p-0").write_raw(b"hal")
    await settle()
    fixture.delete("p-0")
    await api.server.drop()
    assert await fixture.multiplexer.drain(60)
    assert ["whole", "hal"] == fixture.output.of("p-0")
    assert ["p-0/pytorch: gone before its end was read"] == fixture.multiplexer.incomplete
    await fixture.multiplexer.aclose()


@scenario
async def test_a_pod_that_vanished_unread_is_named(api: FakeApi, client: KubeClient) -> None:
    """A log nobody could read before the pod was deleted is told, not passed over."""
    api.fail(verb="log", status=503, times=100)
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    await asyncio.sleep(5)
    fixture.delete("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["p-0/pytorch: gone before it was read"] == fixture.multiplexer.unread
    await fixture.multiplexer.aclose()


@scenario
async def test_a_pod_that_vanished_while_it_was_silent_is_named(
    api: FakeApi, client: KubeClient
) -> None:
    """An open stream that says nothing proves nothing when its pod is gone."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    fixture.log("p-0").write("first 0")
    await asyncio.sleep(10)
    fixture.multiplexer.pod_deleted("p-0")
    assert await fixture.multiplexer.drain(60)
    await fixture.multiplexer.aclose()
    assert ["p-0/pytorch: gone before its end was read"] == fixture.multiplexer.incomplete


@scenario
async def test_a_container_still_being_created_is_asked_again(
    api: FakeApi, client: KubeClient
) -> None:
    """400 ContainerCreating is no failure: the log comes when there is one."""
    fixture = MultiplexerFixture(api, client)
    api.fail(verb="log", status=400, times=3)
    fixture.start("p-0")
    fixture.log("p-0").write("here")
    await asyncio.sleep(30)
    assert ["here"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_one_failing_log_touches_no_other(api: FakeApi, client: KubeClient) -> None:
    """One pod's node answers nothing but 500; the others' lines come as if it were not there."""
    fixture = MultiplexerFixture(api, client)
    api.fail(verb="log", path="/p-0/", status=500, times=10_000)
    for number in range(5):
        fixture.start(f"p-{number}")
        fixture.log(f"p-{number}").write("hello")
    await settle()
    assert [f"p-{number} hello" for number in range(1, 5)] == sorted(fixture.output.lines())
    await fixture.multiplexer.aclose()


@scenario
async def test_retry_after_is_honoured(api: FakeApi, client: KubeClient) -> None:
    """A server that asks for seven seconds of peace gets them."""
    fixture = MultiplexerFixture(api, client)
    api.fail(verb="log", status=429, retry_after=7, times=1)
    fixture.start("p-0")
    await asyncio.sleep(30)
    first, second = [request.at for request in api.requests][:2]
    assert second - first >= 7
    await fixture.multiplexer.aclose()


@scenario
async def test_a_limit_of_streams_gives_every_log_its_turn(
    api: FakeApi, client: KubeClient
) -> None:
    """Two streams for ten containers: all lines of all come, over never more than two at once."""
    fixture = MultiplexerFixture(api, client, LogOptions(max_log_streams=2))
    pods = [f"p-{number}" for number in range(10)]
    for pod in pods:
        fixture.start(pod)
    for number in range(240):
        for pod in pods:
            fixture.log(pod).write(f"line {number}")
        await asyncio.sleep(1)
        assert sum(fixture.log(pod).followers for pod in pods) <= 2
    assert all(fixture.output.of(pod) for pod in pods)
    for pod in pods:
        fixture.end(pod)
    assert await fixture.multiplexer.drain(600)
    assert {pod: numbered(240) for pod in pods} == {pod: fixture.output.of(pod) for pod in pods}
    await fixture.multiplexer.aclose()


@scenario
async def test_helper_containers_are_left_out(api: FakeApi, client: KubeClient) -> None:
    """Init containers of the job are printed, those that operators and meshes add are not."""
    fixture = MultiplexerFixture(api, client)
    containers = ("pytorch", "istio-proxy")
    init = ("fetch-data", "init-pytorch", "kubectl-delivery")
    for name in (*containers, *init):
        fixture.log("p-0", name).write(name)
    for name in init:
        fixture.log("p-0", name).end()
    fixture.start("p-0", *containers, init=init)
    await settle()
    assert ["fetch-data", "pytorch"] == sorted(fixture.output.of("p-0"))
    await fixture.multiplexer.aclose()


@scenario
async def test_unfinished_lines_are_shown_on_a_terminal(api: FakeApi, client: KubeClient) -> None:
    """What kubelet hands over of a progress bar; then the whole line."""
    fixture = MultiplexerFixture(api, client, LogOptions(terminal=True))
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.write("first")
    await settle()
    log.write_raw(b"10%\r20%\r")
    await asyncio.sleep(1.5)
    assert [b"p-0 20%"] == fixture.output.previews
    log.rows[-1] = (log.rows[-1][0], b"10%\r20%\rdone\n")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["first", "done"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_pods_get_their_colours_in_turn(api: FakeApi, client: KubeClient) -> None:
    """Ten pods, ten colours; a pod that restarts keeps its own."""
    fixture = MultiplexerFixture(api, client, LogOptions(colour=True))
    pods = [f"p-{number}" for number in range(10)]
    for pod in pods:
        fixture.start(pod)
        fixture.log(pod).write("x")
    await settle()
    colours = [line.split("m")[0] for line in fixture.output.lines()]
    assert 10 == len(set(colours))
    fixture.restart("p-3").write("x")
    await settle()
    assert colours[3] == fixture.output.lines()[-1].split("m")[0]
    await fixture.multiplexer.aclose()


WATCHER = b"failed to create fsnotify watcher: too many open files\n"


@scenario
async def test_a_log_that_the_node_cannot_follow_is_polled(
    api: FakeApi, client: KubeClient
) -> None:
    """Each line once and some seconds late; the node's words are told once, never printed."""
    fixture = MultiplexerFixture(api, client)
    pods = ["p-0", "p-1"]
    for pod in pods:
        fixture.start(pod)
        fixture.log(pod).follow_error = WATCHER
    for number in range(30):
        for pod in pods:
            fixture.log(pod).write(f"line {number}")
        await asyncio.sleep(4)
    await asyncio.sleep(10)
    assert [numbered(30)] * 2 == [fixture.output.of(pod) for pod in pods]
    for pod in pods:
        fixture.end(pod)
    assert await fixture.multiplexer.drain(60)
    await fixture.multiplexer.aclose()
    assert [numbered(30)] * 2 == [fixture.output.of(pod) for pod in pods]
    [notice] = fixture.notices
    assert "the node cannot follow the log (failed to create fsnotify watcher" in notice
    assert ([], []) == (fixture.multiplexer.unread, fixture.multiplexer.incomplete)


@scenario
async def test_a_log_that_is_followed_again_when_the_node_can(
    api: FakeApi, client: KubeClient
) -> None:
    """Polls are not for ever: what the node lacked may be there again."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    log = fixture.log("p-0")
    log.follow_error = WATCHER
    log.write("line 0")
    await settle()
    log.follow_error = b""
    await asyncio.sleep(700)
    log.write("line 1")
    await settle()
    assert numbered(2) == fixture.output.of("p-0")
    assert "follow since" == requests(api)[-1]
    await fixture.multiplexer.aclose()


@pytest.mark.parametrize("newline", [b"", b"\n"])
@scenario
async def test_a_log_that_the_node_cannot_read_is_named(
    api: FakeApi, client: KubeClient, newline: bytes
) -> None:
    """An answer of 200 with the node's error in it is no log, and not the end of one."""
    fixture = MultiplexerFixture(api, client)
    fixture.log("p-0").write("line 0")
    fixture.start("p-0")
    await settle()
    error = b"unable to retrieve container logs for containerd://5e1f"
    fixture.log("p-0").read_error = error + newline
    fixture.log("p-0").write("line 1")
    await api.server.drop()
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    await fixture.multiplexer.aclose()
    assert numbered(1) == fixture.output.of("p-0")
    reason = f"the node could not read it: {error.decode()}"
    assert [f"p-0/pytorch: {reason}"] == fixture.multiplexer.incomplete


def requests(api: FakeApi) -> list[str]:
    """What was asked of each log request: `follow`, `since`, `previous`."""
    queries = [each.query for each in api.requests if each.path.endswith("/log")]
    names = {"follow": "follow", "sinceTime": "since", "previous": "previous"}
    return [
        " ".join(word for key, word in names.items() if query.get(key, "false") != "false")
        for query in queries
    ]


@scenario
async def test_old_lines_are_read_by_a_plain_request_before_the_log_is_followed(
    api: FakeApi, client: KubeClient
) -> None:
    """A container that was first seen running: one request for what there is, one to follow."""
    fixture = MultiplexerFixture(api, client)
    fixture.log("p-0").write(*numbered(100))
    fixture.start("p-0", has_run_long=True)
    await settle()
    fixture.log("p-0").write("line 100")
    await settle()
    assert numbered(101) == fixture.output.of("p-0")
    assert ["", "follow since"] == requests(api)
    await fixture.multiplexer.aclose()


@scenario
async def test_a_container_that_has_just_started_is_followed_at_once(
    api: FakeApi, client: KubeClient
) -> None:
    """Its pod was seen before: there is nothing to catch up with, nor after a restart."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    await settle()
    fixture.log("p-0").write("first")
    await settle()
    fixture.restart("p-0").write("second")
    await settle()
    assert ["first", "second"] == fixture.output.of("p-0")
    assert ["follow", "follow", "since previous"] == sorted(requests(api))
    await fixture.multiplexer.aclose()


@scenario
async def test_a_container_that_has_ended_is_not_followed(api: FakeApi, client: KubeClient) -> None:
    """Its log is complete: a plain request is enough, also for the rest of it."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0", has_run_long=True)
    fixture.start("p-1", show=False)
    for pod in ("p-0", "p-1"):
        fixture.log(pod).write(*numbered(3))
    fixture.end("p-1")
    assert await fixture.multiplexer.drain(60)
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert [numbered(3)] * 2 == [fixture.output.of(pod) for pod in ("p-0", "p-1")]
    asked = [each for each in api.requests if each.path.endswith("/log")]
    assert {"p-1": [""], "p-0": ["", "follow since", "since"]} == {
        pod: [
            words
            for each, words in zip(asked, requests(api), strict=True)
            if f"/{pod}/" in each.path
        ]
        for pod in ("p-0", "p-1")
    }
    await fixture.multiplexer.aclose()


@pytest.mark.parametrize("event", ["rotation", "rotation of all", "restart", "end", "nothing"])
@scenario
async def test_what_happens_between_catching_up_and_following_costs_no_line(
    api: FakeApi, client: KubeClient, event: str
) -> None:
    """The server refuses to follow for a moment; every line is printed once, or named as lost."""
    fixture = MultiplexerFixture(api, client)
    log = fixture.log("p-0")
    log.write("0", "1", at="2026-01-02T03:04:05.000000001Z")
    log.write("2", at="2026-01-02T03:04:06.000000001Z")
    api.fail(verb="log", path="follow=true", status=503, times=1)
    fixture.start("p-0", has_run_long=True)
    while len(requests(api)) < 2:
        await asyncio.sleep(0.01)
    log.write("3", at="2026-01-02T03:04:06.000000002Z")
    log.write("4", at="2026-01-02T03:04:09.000000001Z")
    expected, gaps = ["0", "1", "2", "3", "4"], 0
    match event:
        case "rotation":
            del log.rows[:2]
        case "rotation of all":
            del log.rows[:4]
            expected, gaps = ["0", "1", "2", "4"], 1
        case "restart":
            fixture.restart("p-0").write("5", at="2026-01-02T03:04:10.000000001Z")
            expected.append("5")
        case "end":
            fixture.end("p-0")
        case _:
            pass
    await asyncio.sleep(30)
    if event != "end":
        fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    await fixture.multiplexer.aclose()
    assert expected == sorted(fixture.output.of("p-0"))
    assert gaps == len([notice for notice in fixture.notices if "missing" in notice])
    assert ([], []) == (fixture.multiplexer.unread, fixture.multiplexer.incomplete)


@scenario
async def test_catching_up_goes_on_where_it_broke(api: FakeApi, client: KubeClient) -> None:
    """Three cuts inside the old lines: still a plain request, until all of them have come."""
    fixture = MultiplexerFixture(api, client)
    log = fixture.log("p-0")
    log.write(*numbered(100))
    log.cuts.extend(Cut(after=size) for size in (500, 1500, 3000))
    fixture.start("p-0", has_run_long=True)
    await asyncio.sleep(30)
    assert numbered(100) == fixture.output.of("p-0")
    assert ["", "since", "since", "since", "follow since"] == requests(api)
    await fixture.multiplexer.aclose()


@scenario
async def test_without_follow_what_is_there_is_printed_once(
    api: FakeApi, client: KubeClient
) -> None:
    """A dump ends although the containers go on."""
    fixture = MultiplexerFixture(api, client, LogOptions(follow=False))
    fixture.start("p-0")
    fixture.log("p-0").write(*numbered(5))
    fixture.multiplexer.pod_deleted("nobody")
    await settle()
    assert await fixture.multiplexer.drain(10)
    assert numbered(5) == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_drain_does_not_wait_for_a_container_that_goes_on_silently(
    api: FakeApi, client: KubeClient
) -> None:
    """A parameter server that nobody stops holds nothing up; its log is not called incomplete."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("ps-0")
    fixture.log("ps-0").write("serving")
    await settle()
    before = asyncio.get_running_loop().time()
    assert await fixture.multiplexer.drain(600)
    assert asyncio.get_running_loop().time() - before < 10
    await fixture.multiplexer.aclose()
    assert [] == fixture.multiplexer.incomplete


@scenario
async def test_a_log_that_does_not_end_is_named_when_time_is_up(
    api: FakeApi, client: KubeClient
) -> None:
    """Drain says that it was not done, and the summary can say of what."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    api.fail(verb="log", status=500, times=10_000)
    await api.server.drop()
    await asyncio.sleep(5)
    fixture.end("p-0")
    assert not await fixture.multiplexer.drain(20)
    await fixture.multiplexer.aclose()
    assert ["p-0/pytorch: stopped before its end"] == fixture.multiplexer.incomplete


@scenario
async def test_lines_of_ten_megabytes_pass_whole(api: FakeApi, client: KubeClient) -> None:
    """A very long line hangs nothing and is not split."""
    fixture = MultiplexerFixture(api, client)
    fixture.start("p-0")
    long = "x" * 10_000_000
    fixture.log("p-0").write("before", long, "after")
    fixture.end("p-0")
    assert await fixture.multiplexer.drain(60)
    assert ["before", long, "after"] == fixture.output.of("p-0")
    await fixture.multiplexer.aclose()


@scenario
async def test_lines_too_long_for_memory_are_printed_in_pieces(
    api: FakeApi, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Progress bars that only ever return the carriage are shown as they grow, not kept."""
    monkeypatch.setattr("dlf.logs.log_context.PARTIAL_LINE_MIN_BYTES", 1000)
    monkeypatch.setattr("dlf.logs.log_context.PARTIAL_LINES_TOTAL_BYTES", 5000)
    fixture = MultiplexerFixture(api, client)
    bar = "".join(f"{number:06d} of it\r" for number in range(20_000))
    pods = [f"p-{number}" for number in range(10)]
    for pod in pods:
        fixture.start(pod)
        fixture.log(pod).write_raw(bar.encode())
    await settle()
    assert all(len("".join(fixture.output.of(pod))) > len(bar) - 70_000 for pod in pods)
    for pod in pods:
        fixture.end(pod)
    assert await fixture.multiplexer.drain(60)
    assert dict.fromkeys(pods, bar) == {pod: "".join(fixture.output.of(pod)) for pod in pods}
    await fixture.multiplexer.aclose()


@scenario
async def test_a_blocked_output_stops_the_logs_and_nothing_else(
    api: FakeApi, client: KubeClient
) -> None:
    """Nobody reads: little is kept, the server still answers; then every line comes."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    writer = Writer(write)
    fixture = MultiplexerFixture(api, client, output=writer)
    pods = [f"p-{number}" for number in range(5)]
    for pod in pods:
        fixture.start(pod)
        fixture.log(pod).write(*(f"{number} " + "x" * 1000 for number in range(2000)))
    await settle()
    assert HIGH_WATER_BYTES < writer.waiting < HIGH_WATER_BYTES + len(pods) * 100_000
    assert 5 == len((await client.list(POD, "ml", Pod))[0])
    for pod in pods:
        fixture.end(pod)
    wait_drained = asyncio.create_task(fixture.multiplexer.drain(600))
    got = b""
    while not (wait_drained.done() and not writer.waiting):
        try:
            got += os.read(read, 1 << 20)
        except BlockingIOError:
            await asyncio.sleep(0.001)  # time has to pass, for logs that are read now and then
    assert wait_drained.result()
    for pod in pods:
        printed = [line.split()[1] for line in got.splitlines() if line.startswith(pod.encode())]
        assert [b"%d" % number for number in range(2000)] == printed
    await fixture.multiplexer.aclose()
    writer.close()
    os.close(read)
    os.close(write)


@scenario
async def test_a_reader_that_leaves_ends_every_log_quietly(
    api: FakeApi, client: KubeClient
) -> None:
    """`| head -1`: the owner is told once, drain does not wait, nothing is called a loss."""
    read, write = os.pipe()
    told: list[OutputClosed] = []
    writer = Writer(write, told.append)
    fixture = MultiplexerFixture(api, client, output=writer)
    fixture.start("p-0")
    os.close(read)
    fixture.log("p-0").write("hello")
    await settle()
    fixture.log("p-0").write("hello")
    await settle()
    assert await fixture.multiplexer.drain(600)
    await fixture.multiplexer.aclose()
    assert ([""], []) == ([closed.reason for closed in told], fixture.notices)
    writer.close()
    os.close(write)


@scenario
async def test_repeated_lines_of_many_pods_are_collapsed(api: FakeApi, client: KubeClient) -> None:
    """One line at once, and how many repeated it when its time is over."""
    fixture = MultiplexerFixture(api, client, LogOptions(log_collapse=True))
    for number in range(8):
        fixture.start(f"p-{number}")
        fixture.log(f"p-{number}").write("NCCL version 2.21")
    await asyncio.sleep(5)
    first, told = fixture.output.lines()
    pod = first.split()[0]
    assert (f"{pod} NCCL version 2.21", f"{pod} [and 7 other pods] NCCL version 2.21") == (
        first,
        told,
    )
    await fixture.multiplexer.aclose()


@scenario
async def test_lines_repeated_just_before_the_end_are_counted(
    api: FakeApi, client: KubeClient
) -> None:
    """Eight pods print one error and end: the line, and how many repeated it."""
    fixture = MultiplexerFixture(api, client, LogOptions(log_collapse=True))
    pods = [f"p-{number}" for number in range(8)]
    for pod in pods:
        fixture.start(pod)
        fixture.log(pod).write("ncclSystemError")
        fixture.end(pod)
    assert await fixture.multiplexer.drain(60)
    await fixture.multiplexer.aclose()
    first, repeated = [line.partition(" ") for line in fixture.output.lines()]
    assert "ncclSystemError" == first[2]
    assert (first[0], "[and 7 other pods] ncclSystemError") == (repeated[0], repeated[2])


@scenario
async def test_a_pod_created_again_has_files_of_its_own(
    api: FakeApi, client: KubeClient, tmp_path: Path
) -> None:
    """Volcano restarts a job by creating its pods again under their names: told, and kept apart."""
    fixture = MultiplexerFixture(api, client, LogOptions(log_dir=str(tmp_path)))
    for message in ("first", "second"):
        fixture.begin_log("p-0").write(message)
        fixture.start("p-0")
        await settle()
        fixture.end("p-0")
        await settle()
        fixture.delete("p-0")
    await fixture.multiplexer.aclose()
    assert {
        "p-0.pytorch.log": "first\n",
        "p-0.pytorch.recreated-1.log": "second\n",
    } == {path.name: path.read_text() for path in tmp_path.iterdir()}
    [notice] = fixture.notices
    assert notice.startswith("p-0: created again (uid ")


@scenario
async def test_a_bug_in_what_looks_after_streams_comes_out(
    api: FakeApi, client: KubeClient
) -> None:
    """It is raised like a bug in any log, although nothing waits for that task."""
    fixture = MultiplexerFixture(
        api, client, LogOptions(log_collapse=True), output=BrokenForRepeatedLines()
    )
    for pod in ("p-0", "p-1"):
        fixture.start(pod)
        fixture.log(pod).write("hello")
    await asyncio.sleep(5)
    with pytest.raises(ZeroDivisionError):
        await fixture.multiplexer.aclose()


@scenario
async def test_a_bug_in_one_log_comes_out(api: FakeApi, client: KubeClient) -> None:
    """What nobody foresaw is not swallowed with the task it happened in."""
    fixture = MultiplexerFixture(api, client, output=Broken())
    fixture.start("p-0")
    fixture.log("p-0").write("hello")
    with pytest.raises(ZeroDivisionError):
        await fixture.multiplexer.drain(10)
    with pytest.raises(ZeroDivisionError):
        await fixture.multiplexer.aclose()


class Broken:
    """An output with a bug."""

    closed = None

    async def write(self, _: bytes) -> None:
        raise ZeroDivisionError


class BrokenForRepeatedLines(Output):
    """An output with a bug that only the line of a collapsed message meets."""

    @override
    async def write(self, lines: bytes) -> None:
        if b"other pods" in lines:
            raise ZeroDivisionError
