"""Records of runs as they would be on disk."""

from pathlib import Path
from typing import Any

import msgspec

from dlf.local.process_identity import Place, ProcessIdentity, this_place, this_process
from dlf.local.recorder import Recorder
from dlf.local.run_record import (
    ContainerEnded,
    ContainerStarted,
    RecordedPod,
    RunEnded,
    RunHeader,
)

OTHER_HOST = Place("another", "another", this_place().pid_namespace)

GONE = ProcessIdentity(1, 1)
"""Process 1 is there, but was not started at this time."""


def header(name: str = "job", **changes: Any) -> RunHeader:
    """A run of two pods, by this process."""
    made = RunHeader(
        name=name,
        kind="PyTorchJob",
        task="train",
        created="2026-01-02T03:04:05Z",
        place=this_place(),
        launcher=this_process(),
        mark=f"mark-of-{name}",
        scratch=f"/nonexistent/mark-of-{name}",
        pods=[
            RecordedPod(pod=f"{name}-master-0", role="master", rank=0, container="pytorch"),
            RecordedPod(pod=f"{name}-worker-0", role="worker", rank=1, container="pytorch"),
        ],
    )
    return msgspec.structs.replace(made, **changes)


def started(
    pod: str, restart: int = 0, generation: int = 0, process: ProcessIdentity = GONE
) -> ContainerStarted:
    return ContainerStarted(
        pod=pod, restart=restart, generation=generation, process=process, time=""
    )


def ended(pod: str, code: int = 0, *, stopped: bool = False) -> ContainerEnded:
    return ContainerEnded(pod=pod, code=code, stopped=stopped, time="")


def finished(
    state: str = "succeeded", reason: str = "", time: str = "2026-01-02T03:05:00Z"
) -> RunEnded:
    return RunEnded(state=state, reason=reason, time=time)


def record(directory: Path, of: RunHeader, *events: Any) -> Recorder:
    """Write a record; what cannot be written is an error."""
    said: list[str] = []
    recorder = Recorder(directory, of, said.append)
    for event in events:
        recorder.add(event)
    assert [] == said
    return recorder
