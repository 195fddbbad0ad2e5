"""Keeping up with a collection over real sockets, through everything that goes wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from fake_api import FakeApi
from kube.scenario import cluster, scenario

from dlf.errors import ClusterLost, Rejected
from dlf.kube.client import KubeClient
from dlf.kube.reflector import Change, Snapshot, list_and_watch
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Pod
from dlf.task.scalars import duration


def pod(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}}


class Seen:
    """What a follower was given, as words: `[a b]` for a snapshot, `+a ~a -a` for changes."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.more = asyncio.Event()

    def add(self, step: Snapshot[Pod] | Change[Pod]) -> None:
        match step:
            case Snapshot(items):
                self.steps.append(f"[{' '.join(each.metadata.name for each in items)}]")
            case Change(type_, thing):
                sign = {"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}[type_]
                self.steps.append(sign + thing.metadata.name)
        self.more.set()

    async def until(self, count: int) -> list[str]:
        """Wait until so many steps were seen."""
        while len(self.steps) < count:
            self.more.clear()
            await self.more.wait()
        return self.steps


@asynccontextmanager
async def following(client: KubeClient, **selectors: str) -> AsyncIterator[Seen]:
    """Follow the pods of a namespace in a task."""
    seen = Seen()

    async def work() -> None:
        async for step in list_and_watch(client, POD, "ml", Pod, **selectors):
            seen.add(step)

    task = asyncio.create_task(work())
    try:
        yield seen
    finally:
        if task.done():
            task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def asked(api: FakeApi) -> list[str]:
    """What was asked, as `list` and `watch VERSION`."""
    return [
        f"watch {r.query['resourceVersion']}" if "watch" in r.query else "list"
        for r in api.requests
    ]


@scenario
async def test_reflector_yields_a_snapshot_then_changes(api: FakeApi, client: KubeClient) -> None:
    """What was there first is one snapshot; every change after it comes by itself."""
    pods = api.collection("pods", "ml")
    api.store.create(pods, pod("a"))
    async with following(client) as seen:
        await seen.until(1)
        api.store.create(pods, pod("b"))
        api.store.patch(pods, "a", {"status": {"phase": "Running"}})
        api.store.delete(pods, "a")
        assert ["[a]", "+b", "~a", "-a"] == await seen.until(4)
    assert ["list", "watch 1001"] == asked(api)


@scenario
async def test_reflector_asks_for_what_the_selectors_mean(api: FakeApi, client: KubeClient) -> None:
    """Selectors go with both requests; an object that begins to match is ADDED."""
    pods = api.collection("pods", "ml")
    api.store.create(pods, pod("a", job="j"))
    api.store.create(pods, pod("b"))
    async with following(client, label_selector="job=j") as seen:
        await seen.until(1)
        api.store.patch(pods, "b", {"metadata": {"labels": {"job": "j"}}})
        assert ["[a]", "+b"] == await seen.until(2)
    assert ["job=j"] * 2 == [request.query["labelSelector"] for request in api.requests]


@scenario
async def test_reflector_watches_with_bookmarks_and_random_timeouts(
    api: FakeApi, client: KubeClient
) -> None:
    """A watch asks for bookmarks and says how long it wants to live; then comes the next one."""
    async with following(client):
        await asyncio.sleep(3600.0)
    watches = [request for request in api.requests if "watch" in request.query]
    assert {"true"} == {request.query["allowWatchBookmarks"] for request in watches}
    lives = [int(request.query["timeoutSeconds"]) for request in watches]
    assert all(300 <= life <= 600 for life in lives)
    assert len(set(lives)) > 1
    gaps = [b.at - a.at for a, b in pairwise(watches)]
    assert [float(life) for life in lives[:-1]] == pytest.approx(gaps)
    assert 1 == asked(api).count("list")


@scenario
async def test_reflector_goes_on_from_the_last_bookmark(api: FakeApi, client: KubeClient) -> None:
    """What happened elsewhere meanwhile need not be looked through, and may be forgotten."""
    async with following(client) as seen:
        await asyncio.sleep(1.0)
        api.store.create(api.collection("configmaps", "ml"), pod("elsewhere"))
        api.send_bookmark()
        api.store.oldest = api.store.version
        api.end_watches()
        await asyncio.sleep(1.0)
        assert ["[]"] == seen.steps
    assert ["list", "watch 1000", "watch 1001"] == asked(api)


@scenario
async def test_reflector_lists_again_after_410_as_event(api: FakeApi, client: KubeClient) -> None:
    """A server that has compacted its history is listed again; nothing is lost."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await seen.until(1)
        api.expire_watches()
        api.store.create(pods, pod("a"))
        assert ["[]", "[a]"] == await seen.until(2)
        api.store.create(pods, pod("b"))
        assert ["[]", "[a]", "+b"] == await seen.until(3)


@scenario
async def test_reflector_lists_again_after_410_as_status(api: FakeApi, client: KubeClient) -> None:
    """The same when the server says so before the watch begins."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await asyncio.sleep(1.0)
        await api.server.stop()
        api.store.create(pods, pod("a"))
        api.store.compact()
        await api.server.start()
        assert ["[]", "[a]"] == await seen.until(2)
        await asyncio.sleep(1.0)
    assert ["list", "watch 1000", "watch 1000", "list", "watch 1002"] == asked(api)


@scenario
async def test_reflector_backs_off_when_410_repeats(api: FakeApi, client: KubeClient) -> None:
    """Lists follow one another ever more slowly, and the follower lives on."""
    api.fail(verb="watch", status=410, times=None)
    async with following(client) as seen:
        await seen.until(8)
        lists = [request.at for request in api.requests if "watch" not in request.query]
        gaps = [b - a for a, b in pairwise(lists)]
        assert gaps[0] < 0.1
        assert all(
            wait <= gap <= wait * 1.25 + 0.1
            for wait, gap in zip([1.6, 3.2, 6.4, 12.8, 25.6, 30.0], gaps[1:], strict=True)
        )


@scenario
async def test_reflector_honours_retry_after(api: FakeApi, client: KubeClient) -> None:
    """429 with Retry-After: the next request comes no earlier than that."""
    async with following(client) as seen:
        await seen.until(1)
        api.fail(verb="watch", status=429, retry_after=50)
        api.end_watches()
        await asyncio.sleep(100.0)
    refused, accepted = api.requests[-2:]
    assert 50.0 <= accepted.at - refused.at <= 63.0


@scenario
async def test_reflector_rides_out_an_outage(
    api: FakeApi, client: KubeClient, notices: list[str]
) -> None:
    """Twenty minutes of 503 end with everything seen; the user hears of it twice."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await seen.until(1)
        api.fail(seconds=1200.0, status=503, message="etcd is away")
        api.end_watches()
        await asyncio.sleep(600.0)
        api.store.create(pods, pod("a"))
        assert ["[]", "+a"] == await seen.until(2)
        await asyncio.sleep(2.0)
    assert 2 == len(notices)
    assert "(HTTP 503: etcd is away); retrying for" in notices[0]
    words, span = notices[1].rsplit(" ", 1)
    assert "the API server answers again after" == words
    # From the first failure to the first success, which a pause of up to 30 s delays each.
    assert 1170 <= duration(span) <= 1230


@scenario
async def test_reflector_rides_out_a_server_that_is_gone(
    api: FakeApi, client: KubeClient, notices: list[str]
) -> None:
    """The same when connections are refused."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await seen.until(1)
        await api.server.stop()
        await asyncio.sleep(900.0)
        await api.server.start()
        api.store.create(pods, pod("a"))
        assert ["[]", "+a"] == await seen.until(2)
    assert 2 == len(notices)


@scenario
async def test_reflector_gives_up_after_the_budget(api: FakeApi, client: KubeClient) -> None:
    """Half an hour without a success is `ClusterLost`, with the last cause in words."""
    loop = asyncio.get_running_loop()
    await api.server.stop()
    with pytest.raises(ClusterLost, match=r"list pods .* 30m .*: connection refused") as lost:
        await anext(list_and_watch(client, POD, "ml", Pod))
    assert 4 == lost.value.exit_code
    assert pytest.approx(1800.0, abs=1.0) == loop.time()


@scenario
async def test_reflector_counts_the_budget_from_the_last_success(
    api: FakeApi, client: KubeClient
) -> None:
    """Outages that are shorter than the budget may follow one another."""
    async with following(client) as seen:
        await seen.until(1)
        for _ in range(5):
            api.fail(seconds=1500.0, status=500)
            api.end_watches()
            await asyncio.sleep(1600.0)
        api.store.create(api.collection("pods", "ml"), pod("a"))
        assert ["[]", "+a"] == await seen.until(2)


@scenario
async def test_reflector_backs_off_from_short_watches(api: FakeApi, client: KubeClient) -> None:
    """A proxy that closes every watch is not hammered."""
    api.fail(verb="watch", status=200, body=b"", times=None)
    async with following(client):
        await asyncio.sleep(300.0)
    assert 10 <= len(api.requests) <= 18


@scenario
async def test_reflector_goes_on_after_a_cut_in_the_middle_of_a_line(
    api: FakeApi, client: KubeClient
) -> None:
    """What arrived of a broken line is thrown away; the event comes whole the next time."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await seen.until(1)
        whole = asyncio.Event()

        def half(line: bytes) -> list[bytes]:
            whole.set()
            return [line[:20]]

        api.split = half
        api.store.create(pods, pod("a"))
        await whole.wait()
        await asyncio.sleep(0.1)
        api.split = lambda line: [line]
        await api.server.drop()
        assert ["[]", "+a"] == await seen.until(2)


@scenario
async def test_reflector_notices_a_dead_watch(api: FakeApi, client: KubeClient) -> None:
    """A watch that is silent for longer than it asked to live is opened again."""
    pods = api.collection("pods", "ml")
    api.fail(verb="watch", stall=True)
    async with following(client) as seen:
        await seen.until(1)
        api.store.create(pods, pod("a"))
        assert ["[]", "+a"] == await seen.until(2)
    dead, opened = api.requests[1:]
    life = int(dead.query["timeoutSeconds"])
    assert life + 30.0 <= opened.at - dead.at <= life + 31.1


@scenario
async def test_reflector_tells_an_unknown_event_once(
    api: FakeApi, client: KubeClient, notices: list[str]
) -> None:
    """An event of a type that is not known yet is passed over."""
    pods = api.collection("pods", "ml")
    async with following(client) as seen:
        await asyncio.sleep(1.0)
        api.send_event("RENAMED", {"metadata": {}})
        api.send_event("RENAMED", {"metadata": {}})
        api.store.create(pods, pod("a"))
        assert ["[]", "+a"] == await seen.until(2)
    assert ["watch of pods: unknown event `RENAMED`"] == notices


@scenario
async def test_reflector_splits_events_at_newlines_only(api: FakeApi, client: KubeClient) -> None:
    """U+2028, form feed and carriage return are part of a line; chunks may end anywhere."""
    pods = api.collection("pods", "ml")
    odd = pod("a")
    odd["metadata"]["annotations"] = {"text": "a\u2028b\u0085c\x0cd\re"}
    api.split = lambda line: [line[i : i + 7] for i in range(0, len(line), 7)]
    found: list[Pod] = []
    async with asyncio.timeout(10.0):
        async for step in list_and_watch(client, POD, "ml", Pod):
            match step:
                case Snapshot():
                    api.store.create(pods, odd)
                case Change(_, thing):
                    found.append(thing)
                    break
    assert {"text": "a\u2028b\u0085c\x0cd\re"} == found[0].metadata.annotations


@pytest.mark.parametrize("verb", ["list", "watch"])
@scenario
async def test_reflector_raises_rejections(api: FakeApi, client: KubeClient, verb: str) -> None:
    """A missing right is told, not tried again; it names verb and resource."""
    api.denied = {(verb, "pytorchjobs.kubeflow.org")}
    with pytest.raises(Rejected, match=f"cannot {verb} pytorchjobs.kubeflow.org") as refused:
        async for _ in list_and_watch(client, PYTORCHJOB, "ml", Pod):
            pass
    assert 403 == refused.value.status


@scenario
async def test_reflector_raises_an_error_event(api: FakeApi, client: KubeClient) -> None:
    """An ERROR event is what the same HTTP status would be."""
    steps = list_and_watch(client, POD, "ml", Pod)
    await anext(steps)
    said = {"code": 403, "message": "forbidden now"}
    asyncio.get_running_loop().call_later(1.0, api.send_event, "ERROR", said)
    with pytest.raises(Rejected, match=r"watch pods .* forbidden now"):
        await anext(steps)


@scenario
async def test_reflector_gives_up_on_what_is_not_kubernetes(api: FakeApi) -> None:
    """A web page with status 200 is neither tried again nor a traceback."""
    api.fail(status=200, body=b"<html>log in</html>")
    async with KubeClient(cluster(api)) as client:
        with pytest.raises(ClusterLost, match="cannot decode"):
            await anext(list_and_watch(client, POD, "ml", Pod))
