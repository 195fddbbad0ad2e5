"""Random histories: whatever happens on the way, dlf ends with the job, and with its result."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job.histories import JOB
from job.play import play
from job.stage import Stage

from dlf.errors import ExitCode

PODS = (("master", 0), ("worker", 0), ("worker", 1))


class Model:
    """The cluster as this history has made it: phase of each pod, gone or not."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.phases: dict[str, str] = {}
        self.gone: set[str] = set()

    def name(self, number: int) -> str:
        role, index = PODS[number]
        return f"{JOB}-{role}-{index}"

    def there(self, number: int, *phases: str) -> str | None:
        """The pod's name if it is there in one of these phases."""
        name = self.name(number)
        is_there = name in self.phases and name not in self.gone
        return name if is_there and self.phases[name] in phases else None

    @property
    def all_succeeded(self) -> bool:
        return len(self.phases) == len(PODS) and set(self.phases.values()) == {"Succeeded"}


async def create(model: Model, number: int) -> None:
    name = model.name(number)
    if name not in model.phases or name in model.gone:
        model.stage.pod(JOB, *PODS[number])
        model.phases[name] = "Pending"
        model.gone.discard(name)


async def wait(model: Model, number: int) -> None:
    if pod := model.there(number, "Pending"):
        model.stage.waits(pod, "ImagePullBackOff", "slow")


async def run(model: Model, number: int) -> None:
    if pod := model.there(number, "Pending"):
        model.stage.runs(pod, f"line of {pod}")
        model.phases[pod] = "Running"


async def end(model: Model, number: int) -> None:
    if pod := model.there(number, "Running"):
        model.stage.ends(pod, 0, "bye")
        model.phases[pod] = "Succeeded"


async def crash(model: Model, number: int) -> None:
    if pod := model.there(number, "Running"):
        model.stage.ends(pod, 1, "oh")
        model.phases[pod] = "Failed"


async def delete(model: Model, number: int) -> None:
    if pod := model.there(number, "Pending", "Running", "Failed"):
        model.stage.api.store.remove(model.stage.pods, pod)
        model.gone.add(pod)


async def mark(model: Model, number: int) -> None:
    if pod := model.there(number, "Running"):
        model.stage.deletes(pod)


async def restart_job(model: Model, number: int) -> None:
    model.stage.condition(JOB, "Created", "Restarting")


async def run_job(model: Model, number: int) -> None:
    model.stage.condition(JOB, "Created", "Running")


async def unknown(model: Model, number: int) -> None:
    model.stage.condition(JOB, "Created", "Strange")
    model.stage.api.send_event("STRANGE", {"metadata": {"name": JOB}})


async def warn(model: Model, number: int) -> None:
    model.stage.warn(model.name(number), "FailedMount", "no volume")


async def cut(model: Model, number: int) -> None:
    model.stage.api.end_watches()


async def expire(model: Model, number: int) -> None:
    model.stage.api.expire_watches()


async def drop(model: Model, number: int) -> None:
    await model.stage.api.server.drop()


async def break_(model: Model, number: int) -> None:
    status = (500, 503, 429)[number]
    model.stage.api.fail(seconds=40.0, status=status, verb=("", "watch", "log")[number])


async def away(model: Model, number: int) -> None:
    await model.stage.api.server.stop()
    await asyncio.sleep(10.0 * number)
    await model.stage.api.server.start()


async def refuse(model: Model, number: int) -> None:
    await asyncio.sleep(15)  # refusals from the start are another matter
    model.stage.api.tokens = {"another"}
    model.stage.api.end_watches()
    await asyncio.sleep(5.0 * number)
    model.stage.api.tokens = set()


async def pass_(model: Model, number: int) -> None:
    await asyncio.sleep((0.05, 3.0, 90.0)[number])


Step = Callable[[Model, int], Awaitable[None]]
STEPS: list[Step] = [
    create,
    wait,
    run,
    end,
    crash,
    delete,
    mark,
    restart_job,
    run_job,
    unknown,
    warn,
    cut,
    expire,
    drop,
    break_,
    away,
    refuse,
    pass_,
]


async def succeeded(model: Model) -> int:
    model.stage.condition(JOB, "Created", "-Running", "Succeeded")
    return ExitCode.SUCCEEDED


async def failed(model: Model) -> int:
    model.stage.condition(JOB, "Created", "Succeeded", "Failed")
    return ExitCode.FAILED


async def deleted(model: Model) -> int:
    model.stage.api.store.remove(model.stage.jobs, JOB)
    return ExitCode.SUCCEEDED if model.all_succeeded else ExitCode.DELETED


async def replaced(model: Model) -> int:
    model.stage.api.store.remove(model.stage.jobs, JOB)
    model.stage.earlier(JOB, task="8")
    return ExitCode.SUCCEEDED if model.all_succeeded else ExitCode.DELETED


async def signalled(model: Model) -> int:
    model.stage.signal()
    return ExitCode.SIGTERM


FINALS = [succeeded, failed, deleted, replaced, signalled]


@pytest.mark.timeout(600)
@settings(max_examples=30)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), max_size=14),
    final=st.sampled_from(FINALS),
)
def test_every_history_that_ends_ends_dlf_with_its_result(
    steps: list[tuple[Step, int]], final: Callable[[Model], Awaitable[int]]
) -> None:
    """No order of events makes it hang, crash or come to another result than the job's."""
    expected: int = ExitCode.BUG

    async def history(stage: Stage) -> None:
        nonlocal expected
        model = Model(stage)
        await stage.job()
        for step, number in steps:
            await step(model, number)
        expected = await final(model)

    played = play(history, sweep=10)

    assert expected == played.code
    if expected == ExitCode.SIGTERM and break_ not in {step for step, _ in steps}:
        assert played.jobs == []  # while the server is broken, nothing can be deleted
