"""Which logs a pod has: a pure function of its status."""

from typing import Any

import msgspec
import pytest

from dlf.logs.instances import Instance, PodHistory, Target, instances, with_unseen
from dlf.manifest.observed import Pod


def pod(*statuses: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Pod:
    return msgspec.convert(
        {
            "metadata": {"name": "p", "uid": "u"},
            "status": {"containerStatuses": statuses, "initContainerStatuses": init},
        },
        Pod,
    )


def status(ident: str = "a", count: int = 0, last: str = "", **state: Any) -> dict[str, Any]:
    before = {"terminated": {"containerID": last}} if last else {}
    return {
        "name": "c",
        "containerID": ident,
        "restartCount": count,
        "state": state,
        "lastState": before,
    }


TIMES = {"startedAt": "2026-01-02T03:04:05Z", "finishedAt": "2026-01-02T03:04:09Z"}
ENDED: dict[str, Any] = {"terminated": {"containerID": "a", "exitCode": 1}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(status(waiting={}), [], id="not created yet"),
        pytest.param(status(), [], id="no state"),
        pytest.param(status(running={}), [Instance("c", "a", 0, ended=False)], id="running"),
        pytest.param(
            status(running={"startedAt": "2026-01-02T03:04:05Z"}),
            [Instance("c", "a", 0, ended=False, started="2026-01-02T03:04:05Z")],
            id="running since a known time",
        ),
        pytest.param(status(**ENDED), [Instance("c", "a", 0, ended=True)], id="ended"),
        pytest.param(
            status(terminated=ENDED["terminated"] | TIMES),
            [
                Instance(
                    "c",
                    "a",
                    0,
                    ended=True,
                    started=TIMES["startedAt"],
                    ended_at="2026-01-02T03:04:09Z",
                )
            ],
            id="ended at a known time",
        ),
        pytest.param(
            status(terminated={"exitCode": 137, "reason": "ContainerStatusUnknown"}, ident=""),
            [],
            id="evicted before it started",
        ),
        pytest.param(
            status("b", 1, last="a", running={}),
            [
                Instance("c", "a", 0, ended=True, previous=True),
                Instance("c", "b", 1, ended=False),
            ],
            id="restarted",
        ),
        pytest.param(
            status("a", 0, last="a", waiting={"reason": "CrashLoopBackOff"}),
            [Instance("c", "a", 0, ended=True)],
            id="waiting to start again",
        ),
        pytest.param(
            status("b", 1, last="a", terminated={"containerID": "b"}),
            [
                Instance("c", "a", 0, ended=True, previous=True),
                Instance("c", "b", 1, ended=True),
            ],
            id="ended after a restart",
        ),
        pytest.param(
            status("", running={}), [Instance("c", "u#0", 0, ended=False)], id="no container ID"
        ),
    ],
)
def test_instances_are_read_off_the_status(given: dict[str, Any], expected: list[Instance]) -> None:
    """Each container has its current instance, and the one before it if it was restarted."""
    assert expected == instances(pod(given))


def test_instances_of_init_containers_come_first() -> None:
    """They ran first, so their logs are started first."""
    init = status(**ENDED) | {"name": "fetch"}
    assert ["fetch", "c"] == [
        each.container for each in instances(pod(status(running={}), init=(init,)))
    ]


@pytest.mark.parametrize(
    ("found", "seen", "complete"),
    [
        pytest.param([0], 0, "0", id="the first"),
        pytest.param([1, 2], 1, "1 2", id="all that came since"),
        pytest.param([2], 1, "1*1 2", id="one between was not seen"),
        pytest.param([4, 5], 1, "3*3 4 5", id="several were not seen"),
        pytest.param([7], 0, "6*7 7", id="a container that had restarted before the first look"),
        pytest.param([0], 3, "0", id="the count begins anew"),
        pytest.param([], 3, "", id="nothing is new"),
    ],
)
def test_instances_that_nobody_saw_are_read_off_the_restart_count(
    found: list[int], seen: int, complete: str
) -> None:
    """They stand before the next one that was seen, as one: the last of N is `last*N`."""
    instances = with_unseen(
        (Instance("c", f"i{each}", each, ended=False) for each in found), seen, "u"
    )
    assert complete.split() == [
        f"{each.restart}*{each.unseen}" if each.unseen else f"{each.restart}" for each in instances
    ]


@pytest.mark.parametrize(
    ("which", "name"),
    [
        ({}, "p/c"),
        ({"restart": 2}, "p/c (restart 2)"),
        ({"restart": 1, "unseen": 1}, "p/c (restart 1)"),
        ({"restart": 0, "unseen": 1}, "p/c"),
        ({"restart": 3, "unseen": 4}, "p/c (each of restarts 0 to 3)"),
        ({"generation": 1}, "p/c (created again)"),
        ({"generation": 2, "restart": 1}, "p/c (created again 2 times, restart 1)"),
    ],
)
def test_messages_name_the_very_instance(which: dict[str, Any], name: str) -> None:
    """The names of pod and container alone would stand for several."""
    assert name == Target("p", "c", "i", **which).name


def test_pods_are_counted_by_name_and_by_generation() -> None:
    """A pod that is created again keeps its name's order, and is of the next generation."""
    pods = PodHistory()
    seen = [pods.see(name, uid) for name, uid in ("a1", "b1", "a1", "a2", "b1", "a1", "c1")]
    assert [
        (True, 0, 0),
        (True, 1, 0),
        (False, 0, 0),
        (True, 0, 1),
        (False, 1, 0),
        (False, 0, 0),
        (True, 2, 0),
    ] == seen
