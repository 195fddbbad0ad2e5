"""What every step of running one job needs."""

from collections.abc import Callable

import msgspec

from dlf.job.launcher_pod import LauncherPod
from dlf.kube.client import KubeClient
from dlf.manifest.jobs.kind import JobKind
from dlf.task.settings import Lifecycle


class JobContext(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster, the user's rules, and where messages go.

    Attributes:
        client: of the cluster.
        kind: of the job.
        namespace: of the job.
        launcher: the pod that dlf itself runs in.
        lifecycle: earlier jobs, stops, time limits.
        leader: the role whose pod 0 decides when the job succeeds; "" leaves that to the operator.
        notify: prints a line for the user.
        verbose: prints a line with `--verbose`.
        show_status: shows a line at the bottom of the terminal; None where there is none.
    """

    client: KubeClient
    kind: JobKind
    namespace: str
    launcher: LauncherPod
    notify: Callable[[str], None]
    verbose: Callable[[str], None]
    lifecycle: Lifecycle = Lifecycle()
    leader: str = ""
    show_status: Callable[[str], None] | None = None
