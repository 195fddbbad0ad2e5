"""Restarts that happen while nobody can look: each is known, and each loss is told for its own."""

import asyncio

import pytest
from job.pytorch_histories import FIRST, succeed, three_pods
from job.scenario import ScenarioResult, run_scenario
from job.simulated_cluster import SimulatedCluster

from dlf.errors import ExitCode

GONE = "gone before it was read"
END = "gone before its end was read"
DOUBT = "perhaps gone before it was read; what was printed may be a later restart's log"
DOUBT_SINCE_GAP = (
    "perhaps gone before its end was read; what was printed since may be a later restart's log"
)


async def look_away(cluster: SimulatedCluster) -> None:
    """The watch of the pods ends, and what happens until `look_again` is told by no event."""
    cluster.api.fail(verb="watch", path="/pods", seconds=3600, status=503)
    cluster.api.end_watches("pods")
    await asyncio.sleep(1)


async def look_again(cluster: SimulatedCluster) -> None:
    """The pods are listed, since the history of their changes is forgotten."""
    cluster.api.store.compact()
    cluster.api.faults.clear()
    await asyncio.sleep(120)


async def restart(cluster: SimulatedCluster, pod: str, *counts: int) -> None:
    """The container runs again, once for each count, and its status says so."""
    for count in counts:
        cluster.restarts(pod, count, code=1)
        cluster.prints(pod, f"restart {count}")
        await asyncio.sleep(20)


def losses(result: ScenarioResult) -> set[str]:
    """Lines that name the log of the first worker as lost, each also in the summary."""
    lost = {line for line in result.messages if line.startswith(FIRST) and "gone" in line}
    summary = " ".join(line for line in result.messages if line.startswith("  note: logs not read"))
    assert all(line in summary for line in lost)
    return {line.removeprefix(f"{FIRST}/pytorch") for line in lost}


def begun(result: ScenarioResult) -> list[str]:
    """The instances of the first worker whose begin was told, in order."""
    lines = [line for line in result.messages if line.startswith(FIRST)]
    return [line.partition(": ")[0] for line in lines if "begins anew" in line]


def test_a_restart_whose_lines_were_printed_as_those_of_the_one_before_is_named() -> None:
    """The status did not tell it as long as it lasted. At the next look, it tells 2 and 3."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await look_away(cluster)
        cluster.begins_log(FIRST)
        cluster.prints(FIRST, "restart 1")
        await asyncio.sleep(30)  # two looks at the pod
        cluster.tells_restart(FIRST, 1, code=1)
        await restart(cluster, FIRST, 2, 3)
        await look_again(cluster)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert [f"{FIRST} restart {count}" for count in (1, 2, 3)] == [
        line for line in result.out if "restart" in line
    ]
    assert begun(result) == [f"{FIRST}/pytorch (restart {count})" for count in (2, 3)]
    assert losses(result) == {f" (restart 1): {GONE}", f": {DOUBT_SINCE_GAP}", f": {END}"}


@pytest.mark.parametrize(
    ("last", "row"),
    [
        pytest.param(1, "", id="one restart"),
        pytest.param(2, "", id="two, and the kubelet has both logs"),
        pytest.param(3, "restart 1", id="one log is gone"),
        pytest.param(5, "each of restarts 1 to 3", id="three logs are gone"),
    ],
)
@pytest.mark.parametrize("is_end_seen", [False, True], ids=["end unseen", "end seen"])
def test_restarts_between_two_looks_are_told_by_the_restart_count(
    last: int, row: str, is_end_seen: bool
) -> None:
    """Logs can be read meanwhile as little as the pods.

    When the end of the first instance was seen, what was read is known to be its own.
    """

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        await asyncio.sleep(60)
        if is_end_seen:
            cluster.ends_training(FIRST, 1)
            await asyncio.sleep(5)
        cluster.api.fail(verb="log", seconds=3600, status=503)
        await look_away(cluster)
        await restart(cluster, FIRST, *range(1, last + 1))
        await look_again(cluster)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    lines = ["hello from 1", *(f"restart {count}" for count in (last - 1, last) if count)]
    assert lines == [line.partition(" ")[2] for line in result.out if line.startswith(FIRST)]
    assert begun(result) == [
        f"{FIRST}/pytorch (restart {count})" for count in (last - 1, last) if count
    ]
    lost = {f" ({row}): {GONE}"} if row else set()
    if not is_end_seen and last > 1:
        lost.add(f": {END}")
    if not is_end_seen and row:
        lost.add(f": {DOUBT}")
    assert losses(result) == lost


def test_a_pod_created_again_between_two_looks_has_losses_of_its_own() -> None:
    """One that had its name is not blamed for them, nor it for that one's."""

    async def history(cluster: SimulatedCluster) -> None:
        job, pods = await three_pods(cluster)
        cluster.api.fail(verb="log", seconds=3600, status=503)
        await look_away(cluster)
        cluster.api.store.remove(cluster.pods, FIRST)
        cluster.pod(job, "worker", 0)
        cluster.runs(FIRST, "hello again")
        await restart(cluster, FIRST, 1, 2, 3)
        await look_again(cluster)
        await succeed(cluster, job, pods)

    result = run_scenario(history)

    assert result.code == ExitCode.SUCCEEDED
    assert result.count(f"{FIRST}: created again (uid ") == 1
    assert begun(result) == [
        f"{FIRST}/pytorch (created again, restart {count})" for count in (2, 3)
    ]
    assert losses(result) == {
        f" (created again, each of restarts 0 to 1): {GONE}",
        f": {END}",
        f": {DOUBT}",
    }
