"""What `dlf list` and `dlf status` show of runs on this machine, as of jobs in a cluster."""

from collections.abc import Collection

from dlf.inspect.views import JobDetails, JobRow, PodRow
from dlf.local.run_record import RecordedPod, RunHistory
from dlf.local.stored_runs import Launcher, StoredRun


def run_row(run: StoredRun) -> JobRow:
    """A run as one line; it has no namespace."""
    header = run.history.header
    return JobRow(
        kind=header.kind,
        namespace="",
        name=header.name,
        state=_state(run),
        running=len(run.running()),
        total=len(header.pods),
        created=header.created,
        task=header.task,
    )


def run_details(run: StoredRun) -> JobDetails:
    """All about one run."""
    running = run.running()
    return JobDetails(
        job=run_row(run),
        namespace="",
        reason=_reason(run, len(running)),
        conditions=[],
        pods=[
            PodRow(
                name=pod.pod,
                role=pod.role,
                rank=pod.rank,
                state=pod_state(run.history, pod, running, is_over=run.is_over),
                node=run.history.header.place.host,
                restarts=max(len(run.history.instances[pod.pod]) - 1, 0),
            )
            for pod in run.history.header.pods
        ],
        events=[],
    )


def pod_state(
    history: RunHistory, pod: RecordedPod, running: Collection[str], *, is_over: bool
) -> str:
    """One phrase for a pod.

    Args:
        history: of its run.
        pod: which one.
        running: names of the pods whose process was seen.
        is_over: the run has ended, or nobody runs it any more.
    """
    instances = history.instances[pod.pod]
    if not instances:
        return "never started" if is_over else "pending"
    last = instances[-1]
    if pod.pod in running:
        return f"running, process {last.started.process.pid}"
    if not last.ended:
        return "end unknown" if is_over else "running"
    code = last.ended.code
    if last.ended.stopped:
        return f"stopped: exit code {code}"
    return f"failed: exit code {code}" if code else "succeeded"


def _state(run: StoredRun) -> str:
    if run.history.end:
        return run.history.end.state
    match run.launcher:
        case Launcher.RUNNING:
            return "running"
        case Launcher.GONE:
            return "killed"
        case Launcher.ELSEWHERE:
            return "unknown"


def _reason(run: StoredRun, running: int) -> str:
    """Why it is in this state, in words; "" where the state says it all."""
    header = run.history.header
    if run.history.end:
        return run.history.end.reason
    match run.launcher:
        case Launcher.RUNNING:
            return ""
        case Launcher.GONE:
            left = "nothing of it runs"
            if run.processes():
                what = f"{running} of its pods" if running else "processes of its pods"
                left = f"{what} still run: dlf delete --runtime local ends them"
            pid = header.launcher.pid
            why = "as after SIGKILL, or when its end could not be written"
            return f"its dlf, process {pid}, is gone without a result, {why}; {left}"
        case Launcher.ELSEWHERE:
            return f"it was started on {header.place.host}, which cannot be seen from here"
