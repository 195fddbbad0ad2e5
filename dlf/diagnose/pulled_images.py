"""When the images of a job's pods were there: the kubelet's events, the only place that says it.

They are read when all pods have started, since the cluster keeps events for an hour only, and once
more at the end for pods that are missing.
"""

import asyncio
import datetime
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress

from dlf.errors import DlfError
from dlf.kube.client import KubeClient
from dlf.manifest.kinds import EVENT
from dlf.manifest.meta import parse_time
from dlf.manifest.observed import Event, Meta

COMPLETE_SECONDS = 5.0
"""How long the end of a job waits for them."""


class PulledImages:
    """Reads them; a refusal is no error.

    Args:
        client: of the cluster.
        job: name and namespace; the pods' names begin with that of the job.
        verbose: prints a line with `--verbose`.

    Attributes:
        times: uid of a pod to when images of it were there.
    """

    def __init__(self, client: KubeClient, job: Meta, verbose: Callable[[str], None]) -> None:
        self.times: defaultdict[str, set[datetime.datetime]] = defaultdict(set)
        self._client = client
        self._job = job
        self._verbose = verbose
        self._is_refused = False
        self._reading: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read them once, without waiting for it."""
        if not self._reading:
            self._reading = asyncio.create_task(self._read())

    async def complete(self, uids: Iterable[str]) -> None:
        """Wait for them, and read them again if one of these pods is missing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COMPLETE_SECONDS):
                if self._reading:
                    await self._reading
                if not self._is_refused and not self.times.keys() >= set(uids):
                    await self._read()

    async def aclose(self) -> None:
        """Stop reading."""
        if self._reading:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    async def _read(self) -> None:
        selector = "involvedObject.kind=Pod,reason=Pulled"
        try:
            namespace = self._job.namespace
            events, _ = await self._client.list(EVENT, namespace, Event, field_selector=selector)
        except DlfError as error:
            self._is_refused = True
            self._verbose(f"it is not known how long image pulls took: {error}")
            return
        for event in events:
            pod = event.involved_object
            # Later events of the same words are counted in the first one.
            time = parse_time(event.first_timestamp or event.event_time or "")
            if time and pod.name.startswith(f"{self._job.name}-"):
                self.times[pod.uid].add(time)
