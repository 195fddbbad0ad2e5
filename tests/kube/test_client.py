"""The client against the fake API server, over real sockets."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from fake_api import Cut, FakeApi
from kube.scenario import cluster, scenario

from dlf.errors import ClusterLost, DlfError, Rejected
from dlf.kube.api_errors import Unavailable
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.mpijob import MPIJOB_V2BETA1
from dlf.manifest.jobs.pytorchjob import PYTORCHJOB
from dlf.manifest.jobs.volcano import VOLCANO_JOB
from dlf.manifest.kinds import POD
from dlf.manifest.observed import Job, Pod


def job(name: str = "j", nonce: str = "mine", **metadata: Any) -> bytes:
    annotations = {"dlf/submission": nonce} if nonce else {}
    return json.dumps(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": name, "annotations": annotations, **metadata},
        }
    ).encode()


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}


def in_pieces(size: int) -> Callable[[bytes], list[bytes]]:
    return lambda content: [content[at : at + size] for at in range(0, len(content), size)]


async def read_all(client: KubeClient, **options: Any) -> bytes:
    async with client.open_log("ml", "p", "c", **options) as log:
        content = b""
        while batch := await log.read():
            content += batch
        return content


@scenario
async def test_create_returns_what_the_server_stored(api: FakeApi, client: KubeClient) -> None:
    """The object comes back with uid and version, and is there."""
    stored = msgspec.json.decode(await client.create(PYTORCHJOB, "ml", job()), type=Job)
    assert stored == await client.get(PYTORCHJOB, "ml", "j", Job)
    assert ("ml", "1001") == (stored.metadata.namespace, stored.metadata.resource_version)


@scenario
async def test_create_is_safe_to_repeat(api: FakeApi, client: KubeClient) -> None:
    """A try whose answer is lost is found again by its nonce: one object, no error."""
    api.fail(verb="create", done_first=True, close=True)
    stored = msgspec.json.decode(await client.create(PYTORCHJOB, "ml", job()), type=Job)
    assert "00000000-0000-0000-0000-000000000001" == stored.metadata.uid
    assert ["POST", "POST", "GET"] == [request.method for request in api.requests]


@pytest.mark.parametrize(
    ("there", "ours"),
    [
        pytest.param("other", "mine", id="somebody else's"),
        pytest.param("", "mine", id="without a nonce"),
        pytest.param("", "", id="neither has a nonce"),
    ],
)
@scenario
async def test_create_refuses_what_is_not_ours(
    api: FakeApi, client: KubeClient, there: str, ours: str
) -> None:
    """409 without our nonce is a refusal in the server's words."""
    await client.create(PYTORCHJOB, "ml", job(nonce=there))
    with pytest.raises(Rejected, match=r'pytorchjobs\.kubeflow\.org "j" already exists') as error:
        await client.create(PYTORCHJOB, "ml", job(nonce=ours))
    assert (409, "AlreadyExists", 3) == (
        error.value.status,
        error.value.reason,
        error.value.exit_code,
    )


@scenario
async def test_create_refuses_what_vanished_meanwhile(api: FakeApi, client: KubeClient) -> None:
    """The object of the 409 may be gone before we can look whose it was."""
    api.fail(verb="create", status=409, message="already exists")
    with pytest.raises(Rejected, match="already exists"):
        await client.create(PYTORCHJOB, "ml", job())


@scenario
async def test_create_as_dry_run_stores_nothing(api: FakeApi, client: KubeClient) -> None:
    """The server answers as if, and has nothing afterwards."""
    answer = await client.create(PYTORCHJOB, "ml", job(), dry_run=True)
    assert "j" == msgspec.json.decode(answer, type=Job).metadata.name
    assert None is await client.get(PYTORCHJOB, "ml", "j", Job)


@scenario
async def test_create_waits_for_a_webhook(
    api: FakeApi, client: KubeClient, notices: list[str]
) -> None:
    """500 `failed calling webhook` passes when the webhook is up; the user hears why it takes."""
    words = 'Internal error occurred: failed calling webhook "validator.training-operator"'
    api.fail(verb="create", seconds=60.0, status=500, message=words)
    await client.create(PYTORCHJOB, "ml", job())
    assert 2 == len(notices)
    assert words in notices[0]


@pytest.mark.parametrize("status", [400, 403, 404, 405, 409, 413, 422])
@scenario
async def test_client_does_not_repeat_what_is_refused(
    api: FakeApi, client: KubeClient, status: int
) -> None:
    """A refusal is one request; it says verb, resource, namespace and the server's own words."""
    api.fail(status=status, message="because of that")
    words = r"cannot create pytorchjobs\.kubeflow\.org in namespace ml: because of that"
    with pytest.raises(Rejected, match=words) as error:
        await client.create(PYTORCHJOB, "ml", job(nonce=""))
    assert status == error.value.status
    assert 1 == len(api.requests)


@scenario
async def test_client_says_which_right_is_missing(api: FakeApi, client: KubeClient) -> None:
    """403 names verb and resource, and what to ask for."""
    api.denied = {("create", "pytorchjobs.kubeflow.org")}
    with pytest.raises(Rejected) as error:
        await client.create(PYTORCHJOB, "ml", job())
    assert "cannot create pytorchjobs.kubeflow.org in namespace ml: " in error.value.message
    expected = "ask for a Role that allows `create` on `pytorchjobs.kubeflow.org` in namespace ml"
    assert expected == error.value.hint


@scenario
async def test_client_shows_no_whole_web_page(api: FakeApi, client: KubeClient) -> None:
    """A proxy's refusal may be a page: it becomes one line of bounded length."""
    api.fail(status=403, body=b"<html>\n" + b"no \n" * 5000)
    with pytest.raises(Rejected) as error:
        await client.list(POD, "ml", Pod)
    assert "\n" not in error.value.message
    assert len(error.value.message) < 2100


@scenario
async def test_client_does_not_follow_redirects(api: FakeApi, client: KubeClient) -> None:
    """A credential goes to the server it is for, and nowhere else."""
    api.fail(status=302, body=b"", headers={"Location": "http://elsewhere.test/"})
    with pytest.raises(Rejected, match="Found"):
        await client.list(POD, "ml", Pod)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 429}, id="429"),
        pytest.param({"status": 500}, id="500"),
        pytest.param({"status": 503}, id="503"),
        pytest.param({"status": 520}, id="a status that HTTP does not know"),
        pytest.param({"close": True}, id="closed"),
        pytest.param({"stall": True}, id="silent"),
        pytest.param(
            {"status": 200, "body": b"no gzip", "headers": {"Content-Encoding": "gzip"}},
            id="bad gzip",
        ),
    ],
)
@scenario
async def test_client_repeats_what_may_work_later(
    api: FakeApi, client: KubeClient, notices: list[str], fault: dict[str, Any]
) -> None:
    """No answer, 429 and 5xx are asked again; a single failure is not worth a word."""
    api.fail(**fault)
    assert ([], "1000") == await client.list(POD, "ml", Pod)
    assert 2 == len(api.requests)
    assert [] == notices


@scenario
async def test_client_honours_retry_after(api: FakeApi, client: KubeClient) -> None:
    """The pause is never shorter than the server asked for; a date instead counts as nothing."""
    api.fail(status=429, retry_after=20)
    api.fail(status=503, headers={"Retry-After": "Fri, 02 Jan 2026 03:04:05 GMT"})
    await client.list(POD, "ml", Pod)
    first, second, third = (request.at for request in api.requests)
    assert 20.0 <= second - first <= 25.1
    assert 1.6 <= third - second <= 2.1


@scenario
async def test_client_gives_up_after_its_budget(api: FakeApi, notices: list[str]) -> None:
    """The last cause is told, and the last try is at the very end of the budget."""
    api.fail(status=503, message="etcday", times=None)
    async with KubeClient(cluster(api), outage_budget=100.0) as client:
        with pytest.raises(ClusterLost, match=r"list pods .* 1m40s .*: HTTP 503: etcd"):
            await client.list(POD, "ml", Pod)
    assert pytest.approx(100.0, abs=0.1) == api.requests[-1].at
    assert 8 <= len(api.requests) <= 11


@scenario
async def test_client_has_a_budget_of_nothing(api: FakeApi) -> None:
    """`--api_outage 0` means one try."""
    api.fail(status=503)
    async with KubeClient(cluster(api), outage_budget=0.0) as client:
        with pytest.raises(ClusterLost):
            await client.list(POD, "ml", Pod)
    assert 1 == len(api.requests)


@scenario
async def test_client_tells_of_one_outage_once(
    api: FakeApi, client: KubeClient, notices: list[str]
) -> None:
    """However many operations are in trouble, it begins once and ends once."""
    api.fail(seconds=300.0, status=503)
    await asyncio.gather(*(client.list(POD, "ml", Pod) for _ in range(20)))
    began, ended = notices
    assert began.startswith("cannot reach the API server at 127.0.0.1:")
    assert began.endswith(" (HTTP 503: something is wrong); retrying for 30m")
    assert ended.startswith("the API server answers again after 5m")


@scenario
async def test_client_reuses_connections(api: FakeApi, client: KubeClient) -> None:
    """Requests one after another go over one connection."""
    connected = []
    serve = api.server.serve

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        await serve(reader, writer)

    api.server.serve = counted  # type: ignore[method-assign]
    for _ in range(5):
        await client.list(POD, "ml", Pod)
    with pytest.raises(Rejected):
        await client.get(MPIJOB_V2BETA1, "ml", "..", Job)
    assert 1 == len(connected)


@scenario
async def test_get_tells_a_missing_object_from_a_missing_kind(
    api: FakeApi, client: KubeClient
) -> None:
    """Both are 404; only the first is an answer."""
    assert None is await client.get(VOLCANO_JOB, "ml", "j", Job)
    del api.resources["batch.volcano.sh", "v1alpha1"]
    with pytest.raises(Rejected, match="could not find the requested resource") as error:
        await client.get(VOLCANO_JOB, "ml", "j", Job)
    assert 404 == error.value.status


@scenario
async def test_list_follows_pages(api: FakeApi, client: KubeClient) -> None:
    """All pages are one list, of one version."""
    pods = api.collection("pods", "ml")
    for index in range(1201):
        api.store.create(pods, pod(f"p-{index:04d}"))
    items, version = await client.list(POD, "ml", Pod)
    assert [f"p-{index:04d}" for index in range(1201)] == [each.metadata.name for each in items]
    assert "2201" == version
    assert ["", "2201-701", "2201-201"] == [r.query.get("continue", "") for r in api.requests]


@scenario
async def test_list_starts_again_when_its_pages_are_forgotten(
    api: FakeApi, client: KubeClient
) -> None:
    """410 in the middle of a list: nothing of the old one is kept."""
    pods = api.collection("pods", "ml")
    for index in range(501):
        api.store.create(pods, pod(f"p-{index:04d}"))
    api.fail(path="continue=", status=410)
    items, _ = await client.list(POD, "ml", Pod)
    assert 501 == len({each.metadata.name for each in items}) == len(items)


@scenario
async def test_list_ends_where_every_next_page_is_expired(api: FakeApi, client: KubeClient) -> None:
    """A server that always answers 410 to a `continue` token is asked for all at once."""
    pods = api.collection("pods", "ml")
    for index in range(501):
        api.store.create(pods, pod(f"p-{index:04d}"))
    api.fail(path="continue=", status=410, times=None)
    async with asyncio.timeout(60.0):
        items, _ = await client.list(POD, "ml", Pod)
    assert 501 == len({each.metadata.name for each in items}) == len(items)
    assert ["500", "500", ""] == [request.query.get("limit", "") for request in api.requests]


@scenario
async def test_list_takes_null_for_nothing(api: FakeApi, client: KubeClient) -> None:
    """Go writes an empty list as null."""
    api.fail(status=200, body=b'{"metadata": {"resourceVersion": "5"}, "items": null}')
    assert ([], "5") == await client.list(POD, "ml", Pod)


@scenario
async def test_delete_says_whether_there_was_something(api: FakeApi, client: KubeClient) -> None:
    """True for what was there; False for what is gone, or is another of the same name."""
    stored = msgspec.json.decode(await client.create(PYTORCHJOB, "ml", job()), type=Job)
    assert not await client.delete(PYTORCHJOB, "ml", "j", uid="another")
    assert await client.delete(PYTORCHJOB, "ml", "j", uid=stored.metadata.uid)
    assert not await client.delete(PYTORCHJOB, "ml", "j")


@scenario
async def test_delete_in_the_foreground_leaves_the_object_for_a_while(
    api: FakeApi, client: KubeClient
) -> None:
    """It has a deletionTimestamp until all it owns is gone."""
    api.store.hold_deletions = True
    await client.create(PYTORCHJOB, "ml", job())
    assert await client.delete(PYTORCHJOB, "ml", "j", foreground=True)
    there = await client.get(PYTORCHJOB, "ml", "j", Job)
    assert there is not None
    assert "2026-01-02T03:04:05Z" == there.metadata.deletion_timestamp


@scenario
async def test_delete_raises_another_conflict(api: FakeApi, client: KubeClient) -> None:
    """Without a uid there is no precondition that could fail."""
    api.fail(status=409)
    with pytest.raises(Rejected):
        await client.delete(PYTORCHJOB, "ml", "j")


@scenario
async def test_served_is_empty_for_what_is_not_there(api: FakeApi, client: KubeClient) -> None:
    """A cluster without an operator does not know its API group; subresources are no kinds."""
    assert frozenset({"mpijobs"}) == await client.served_resources("kubeflow.org", "v2beta1")
    assert ("v1", "v2beta1") == await client.served_versions("kubeflow.org")
    del api.resources["kubeflow.org", "v2beta1"]
    assert frozenset() == await client.served_resources("kubeflow.org", "v2beta1")
    assert ("v1",) == await client.served_versions("kubeflow.org")
    assert () == await client.served_versions("no.such.group")


@scenario
async def test_served_raises_other_refusals(api: FakeApi, client: KubeClient) -> None:
    """Only 404 means that there is nothing."""
    api.fail(status=403)
    with pytest.raises(Rejected, match=r"cannot get /apis/kubeflow\.org/v1: "):
        await client.served_resources("kubeflow.org", "v1")


@scenario
async def test_allowed_asks_the_server(api: FakeApi, client: KubeClient) -> None:
    """The verdict is for one verb on one resource, or subresource."""
    api.denied = {("create", "pytorchjobs.kubeflow.org"), ("get", "pods/log")}
    assert not await client.is_allowed("create", PYTORCHJOB, "ml")
    assert await client.is_allowed("get", PYTORCHJOB, "ml")
    assert not await client.is_allowed("get", ("", "pods", "log"), "ml")


@scenario
async def test_log_is_followed_to_its_end(api: FakeApi, client: KubeClient) -> None:
    """What there was and what comes, then b"" when the container is done."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    log = api.logs.of("ml", "p", "c")
    log.write("one", at="2026-01-02T03:04:05.000000001Z")
    task = asyncio.create_task(read_all(client))
    await asyncio.sleep(4 * 3600.0)
    log.write_raw(b"\xff\r no newline", at="2026-01-02T07:04:05.000000002Z")
    log.end()
    assert (
        b"2026-01-02T03:04:05.000000001Z one\n2026-01-02T07:04:05.000000002Z \xff\r no newline"
    ) == await task


@scenario
async def test_log_waits_for_the_first_byte(api: FakeApi, client: KubeClient) -> None:
    """A container may be silent for hours before its first line."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    log = api.logs.of("ml", "p", "c")
    task = asyncio.create_task(read_all(client, timestamps=False))
    await asyncio.sleep(7200.0)
    log.write("late")
    log.end()
    assert b"late\n" == await task


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, b"a\nb\nc\n", id="all"),
        pytest.param({"since_time": "2026-01-02T03:04:06.7Z"}, b"b\nc\n", id="since"),
        pytest.param({"tail_lines": 1}, b"c\n", id="tail"),
        pytest.param({"limit_bytes": 3}, b"a\nb", id="limit"),
        pytest.param({"previous": True}, b"before\n", id="previous"),
    ],
)
@scenario
async def test_log_options_are_the_kubelets(
    api: FakeApi, client: KubeClient, options: dict[str, Any], expected: bytes
) -> None:
    """`sinceTime` looks at whole seconds and includes that second."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    api.logs.of("ml", "p", "c").write("before")
    log = api.logs.restart("ml", "p", "c")
    for second, line in zip((5, 6, 7), "abc", strict=True):
        log.write(line, at=f"2026-01-02T03:04:{second:02d}.500000000Z")
    assert expected == await read_all(client, timestamps=False, follow=False, **options)


@scenario
async def test_log_is_the_same_however_it_is_cut(api: FakeApi, client: KubeClient) -> None:
    """HTTP chunks of any size, down to a byte."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    log = api.logs.of("ml", "p", "c")
    log.write(*(f"line {index}" for index in range(50)))
    log.end()
    whole = await read_all(client)
    for size in (1, 2, 3, 1000):
        api.split = in_pieces(size)
        assert whole == await read_all(client)


@pytest.mark.parametrize("clean", [True, False])
@scenario
async def test_log_tells_a_cut_from_an_end(api: FakeApi, client: KubeClient, clean: bool) -> None:
    """The kubelet's own end after four hours is clean; a broken connection is not."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    log = api.logs.of("ml", "p", "c")
    log.write("0123456789")
    log.cuts.append(Cut(after=5, clean=clean))
    async with client.open_log("ml", "p", "c", timestamps=False) as stream:
        assert b"01234" == await stream.read()
        if clean:
            assert b"" == await stream.read()
        else:
            with pytest.raises(Unavailable):
                await stream.read()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(
            {"status": 500, "message": "dial tcp: no route to host"}, Unavailable, id="node"
        ),
        pytest.param({"status": 429, "retry_after": 3}, Unavailable, id="throttled"),
        pytest.param({"close": True}, Unavailable, id="closed"),
        pytest.param({"status": 403}, Rejected, id="forbidden"),
    ],
)
@scenario
async def test_log_is_opened_once(
    api: FakeApi, client: KubeClient, fault: dict[str, Any], expected: type[Exception]
) -> None:
    """Whoever follows many logs decides what one failure means."""
    api.fail(**fault)
    with pytest.raises(expected) as error:
        await read_all(client)
    assert 1 == len(api.requests)
    if isinstance(error.value, Unavailable):
        assert fault.get("retry_after", 0.0) == error.value.retry_after


@scenario
async def test_log_of_a_container_that_is_not_there_yet(api: FakeApi, client: KubeClient) -> None:
    """400 while it is being created, 404 without a pod: both in the server's words."""
    with pytest.raises(Rejected, match='get pods/log p in namespace ml: pods "p" not found'):
        await read_all(client)
    api.store.create(api.collection("pods", "ml"), pod("p"))
    with pytest.raises(Rejected, match="waiting to start: ContainerCreating") as error:
        await read_all(client)
    assert 400 == error.value.status


@scenario
async def test_client_leaves_a_stream_that_is_not_read_to_its_end(
    api: FakeApi, client: KubeClient
) -> None:
    """Leaving the context closes the connection, and the server notices."""
    api.store.create(api.collection("pods", "ml"), pod("p"))
    log = api.logs.of("ml", "p", "c")
    log.write("one")
    async with client.open_log("ml", "p", "c") as stream:
        await stream.read()
        assert 1 == log.followers
    await asyncio.sleep(1.0)
    assert 0 == log.followers


@scenario
async def test_client_survives_being_cancelled(api: FakeApi, client: KubeClient) -> None:
    """A request that is cancelled leaves the client usable."""
    api.fail(stall=True)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5.0):
            await client.list(POD, "ml", Pod)
    assert ([], "1000") == await client.list(POD, "ml", Pod)


def test_every_error_of_the_client_is_ours() -> None:
    """What a caller has to expect is in the one tree of errors, but for `Unavailable`."""
    assert issubclass(Rejected, DlfError)
    assert issubclass(ClusterLost, DlfError)
    assert not issubclass(Unavailable, DlfError)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@scenario
async def test_client_sends_a_read_again_when_a_kept_connection_was_closed(
    api: FakeApi, client: KubeClient, method: str
) -> None:
    """On a new connection and at once; a change may have been done, and waits for its next try."""
    await client.list(POD, "ml", Pod)
    api.fail(close=True)
    if method == "GET":
        await client.list(POD, "ml", Pod)
    else:
        assert not await client.delete(POD, "ml", "p")
    first, second = (request.at for request in api.requests[1:])
    assert (second - first < 0.1) is (method == "GET")
