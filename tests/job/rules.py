"""Rules of random histories, written as what happens in the world."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from job.world import World


def event(
    when: Callable[[Any], object] = lambda _: True, **drawn: st.SearchStrategy[Any]
) -> Callable[[Callable[..., Any]], Any]:
    """A rule: this happens in the world, and then nothing for some seconds."""

    def decorate(happen: Callable[..., Any]) -> Any:
        def step(world: World, then: float, **values: Any) -> None:
            async def happening() -> None:
                result = happen(world, **values)
                if inspect.isawaitable(result):
                    await result
                await asyncio.sleep(then)

            world.run(happening())

        step.__name__ = happen.__name__
        seconds = st.sampled_from([0.0, 0.05, 3.0])
        given = rule(then=seconds, **drawn)  # type: ignore[call-overload]  # none is a `target`
        return precondition(lambda world: bool(when(world)))(given(step))

    return decorate


def of_pod(*phases: str, **drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., Any]], Any]:
    """A rule: this happens to one of the pods that are in one of these phases."""

    def decorate(happen: Callable[..., Any]) -> Any:
        def step(world: World, pick: int, **values: Any) -> object:
            pods = world.there(*phases)
            return happen(world, pods[pick % len(pods)], **values)

        step.__name__ = happen.__name__
        return event(lambda world: world.there(*phases), pick=st.integers(0, 2), **drawn)(step)

    return decorate
