"""Rules of random histories, written as what happens in the cluster."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from job.random_cluster import RandomCluster


def event(
    when: Callable[[Any], object] = lambda _: True, **drawn: st.SearchStrategy[Any]
) -> Callable[[Callable[..., Any]], Any]:
    """A rule: this happens in the cluster, and then nothing for some seconds."""

    def decorate(happen: Callable[..., Any]) -> Any:
        def step(cluster: RandomCluster, then: float, **values: Any) -> None:
            async def happening() -> None:
                result = happen(cluster, **values)
                if inspect.isawaitable(result):
                    await result
                await asyncio.sleep(then)

            cluster.run(happening())

        step.__name__ = happen.__name__
        seconds = st.sampled_from([0.0, 0.05, 3.0])
        given = rule(then=seconds, **drawn)  # type: ignore[call-overload]  # none is a `target`
        return precondition(lambda cluster: bool(when(cluster)))(given(step))

    return decorate


def of_pod(*phases: str, **drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., Any]], Any]:
    """A rule: this happens to one of the pods that are in one of these phases."""

    def decorate(happen: Callable[..., Any]) -> Any:
        def step(cluster: RandomCluster, pick: int, **values: Any) -> object:
            pods = cluster.there(*phases)
            return happen(cluster, pods[pick % len(pods)], **values)

        step.__name__ = happen.__name__
        return event(lambda cluster: cluster.there(*phases), pick=st.integers(0, 2), **drawn)(step)

    return decorate
