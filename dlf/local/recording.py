"""The record of a run, from its header to its end however that comes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager

from dlf.frameworks import kind_of
from dlf.local.job import LocalJob
from dlf.local.process_identity import this_place, this_process
from dlf.local.recorder import Recorder, state_directory
from dlf.local.removal import open_record
from dlf.local.result import end_by_error
from dlf.local.run_record import RecordedPod, RunHeader, now
from dlf.manifest.manifest import Manifest
from dlf.manifest.names import task_title


@contextmanager
def recording(
    env: Mapping[str, str], header: RunHeader, notify: Callable[[str], None]
) -> Iterator[Recorder]:
    """Keep a run. The body adds its end; an error that leaves the body is an end, too.

    Args:
        env: names the directory of all runs.
        header: of the run.
        notify: prints a line of dlf's own.
    """
    with closing(open_record(state_directory(env), header, notify)) as recorder:
        try:
            yield recorder
        except BaseException as error:
            recorder.add(end_by_error(error))
            raise


def header_of(manifest: Manifest, job: LocalJob, mark: str, scratch: str) -> RunHeader:
    """The header of a run that this process begins now; see `RunHeader`."""
    meta = manifest.metadata
    return RunHeader(
        name=meta.name,
        kind=kind_of(manifest).title,
        task=task_title(meta.labels, meta.annotations),
        created=now(),
        place=this_place(),
        launcher=this_process(),
        mark=mark,
        scratch=scratch,
        pods=[
            RecordedPod(
                pod=process.pod,
                role=process.role,
                rank=process.rank,
                container=process.container,
            )
            for process in job.processes
        ],
    )
