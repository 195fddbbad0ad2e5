"""What horovod and mpi share: an MPIJob whose launcher runs mpirun over the workers.

training-operator (kubeflow.org/v1) starts the remote side by `kubectl exec`, mpi-operator
(v2beta1) by ssh. In both, mpirun finds host file and agent in the variables of the launcher.
"""

import shlex
from typing import Annotated

import msgspec

from dlf.errors import UsageError
from dlf.frameworks import _kubeflow
from dlf.frameworks._mpi_command import mentioned_starter, starts_ranks
from dlf.frameworks._pod import pod_template
from dlf.frameworks._shell import bash
from dlf.frameworks._worker import REMOTE_FLAGS, used_features, with_worker, worker_source
from dlf.manifest.jobs.kind import JobKind
from dlf.manifest.jobs.kubeflow import ReplicaSpec
from dlf.manifest.jobs.mpijob import MPIJOB, MPIJOB_V2BETA1, MPIJobSpec
from dlf.manifest.manifest import Manifest
from dlf.task import scalars
from dlf.task.flag import Flag, Tolerated
from dlf.task.settings import Workers
from dlf.task.worker_flags import PROGRAM

KINDS = (MPIJOB, MPIJOB_V2BETA1)

_SSHD = ["/usr/sbin/sshd", "-De"]
# mpi-operator starts the launcher together with the workers, which may wait for GPUs; mpirun does
# not wait for them. Their names resolve when they run. An image without getent does not wait.
_AWAIT_WORKERS = (
    "trap exit TERM; while read -r host _; do"
    ' until getent hosts "$host" >/dev/null; do [ $? = 127 ] && break; sleep 1; done;'
    " done </etc/mpi/hostfile"
)
_SLEEP = ["sleep", "365d"]  # busybox knows no `infinity`
_LAUNCHER_FLAGS = (
    REMOTE_FLAGS | {"wait_peers", "wait_timeout"} | {*("hostfile", "hostfile_form", "slots")}
)


def _command(text: str) -> str | Tolerated:
    """`--command`, with a warning where mpirun would be started inside of mpirun."""
    command = scalars.text(text)
    if starter := mentioned_starter(command):
        return Tolerated(
            command,
            f"contains `{starter}` where dlf does not see it start the ranks: dlf's own mpirun runs"
            " the whole command on every rank; to start them yourself, begin a line with"
            f" {starter}",
        )
    return command


class MPIJobSettings(Workers, frozen=True, kw_only=True):
    """The flags that both have."""

    image: Annotated[
        str,
        Flag("image of launcher and workers", scalars.image, metavar="IMAGE", name="work_images"),
    ] = ""
    num_worker: int = 2
    command: Annotated[
        str,
        Flag(
            "what to run, by `bash -c`: on every rank, or once if it starts mpirun itself",
            _command,
            metavar="COMMAND",
            verbatim=True,
        ),
    ] = "python3 mnist.py"
    slots_per_worker: Annotated[
        int, Flag("processes on each worker", scalars.count(1), metavar="N")
    ] = 1


def job(settings: MPIJobSettings, kind: JobKind, suffix: str, prefix: str) -> Manifest:
    """An MPIJob. The launcher decides; workers hold the accelerators and are removed after it."""
    _check_worker_flags(settings, kind)
    roles = {"Launcher": 1, "Worker": settings.num_worker}
    # The launcher of mpi-operator is a batch Job, whose pods end in five random characters.
    name = _kubeflow.name(prefix, settings, suffix, roles | {"Launcher-xxxxx": 1})
    ssh = kind == MPIJOB_V2BETA1
    command = launch(settings)
    if ssh and not (settings.remote or settings.wait_peers):
        command = ["bash", "-c", f'{_AWAIT_WORKERS}; exec "$0" "$@"', *command]
    # Whose GPUs would be counted has none: the launcher.
    slots = settings.slots or settings.slots_per_worker
    launcher = pod_template(
        msgspec.structs.replace(settings, slots=slots) if settings.hostfile else settings,
        kind,
        name,
        "mpi-launcher",
        command,
        labels={"mpi-role": "Launcher"},
        accelerators=False,
        worker_flags=_LAUNCHER_FLAGS,
    )
    worker = pod_template(
        settings,
        kind,
        name,
        "mpi-worker",
        [] if settings.remote else _SSHD if ssh else _SLEEP,
        labels={"mpi-role": "Worker"},
        worker_flags={*REMOTE_FLAGS, "stacks"} if settings.remote else (),
    )
    policy = _kubeflow.run_policy(settings, roles, clean="Running")
    if ssh:  # mpi-operator hands backoffLimit to the launcher's batch Job, which counts retries
        policy = msgspec.structs.replace(policy, backoff_limit=settings.max_retry)
    spec = MPIJobSpec(
        run_policy=policy,
        slots_per_worker=settings.slots_per_worker,
        mpi_replica_specs={
            # The batch Job of mpi-operator starts a new pod, and keeps the failed one with its log.
            "Launcher": ReplicaSpec(replicas=1, restart_policy="Never", template=launcher)
            if ssh
            else _kubeflow.replica(settings, 1, launcher),
            "Worker": ReplicaSpec(
                replicas=settings.num_worker, restart_policy="Never", template=worker
            ),
        },
    )
    return _kubeflow.manifest(settings, kind, name, spec)


def _check_worker_flags(settings: MPIJobSettings, kind: JobKind) -> None:
    """Refuse the flags of `dlf worker` that mpirun, the operator or the command leaves no place.

    Raises:
        UsageError: one of them is set.
    """
    used = used_features(settings)
    for name in {"processes", "process_env"}.intersection(used):
        raise UsageError(
            f"--{name}: mpirun starts the processes of an MPIJob, and numbers them",
            "set how many each worker has with --slots_per_worker",
        )
    for name in {"remote", "wait_peers"}.intersection(used):
        if kind == MPIJOB:
            raise UsageError(
                f"--{name} reaches workers by their names, and training-operator gives them none",
                "leave it out: its launcher waits for them and reaches them by kubectl; or use"
                " mpi-operator (--dry-run=server shows its job)",
            )
    if settings.stacks and not settings.remote and starts_ranks(settings.command):
        raise UsageError(
            "--stacks: the command starts mpirun itself, so its ranks are not dlf's",
            "write --worker=image, and `dlf worker --stacks --` before what mpirun starts, with"
            f" the path {PROGRAM}",
        )


def launch(settings: MPIJobSettings) -> list[str]:
    """The launcher's command: mpirun with the platform's flags, each rank a `bash -c` of its own.

    A command that starts mpirun itself is run as it is. LD_LIBRARY_PATH is passed on only where the
    image sets it: mpirun warns of a variable that is not there. With `--stacks` each rank has a
    worker, unless the worker of its pod starts all that runs there (`--remote`).
    """
    if starts_ranks(settings.command):
        return bash(settings.command)
    flags = "--allow-run-as-root -bind-to none -map-by slot -x PATH"
    transport = "-mca pml ob1 -mca btl ^openib"
    forwarded = [word for name, _ in settings.env for word in ("-x", name)]
    rank = bash(settings.command)
    source = worker_source(settings)
    if source and settings.stacks and not settings.remote:
        rank = with_worker(settings, source.program, rank, {"stacks"})
    return [
        *("bash", "-c", 'exec "$0" ${LD_LIBRARY_PATH+-x LD_LIBRARY_PATH} "$@"', "mpirun"),
        *("-np", str(settings.num_worker * settings.slots_per_worker)),
        *shlex.split(flags),
        *forwarded,
        *shlex.split(transport),
        *rank,
    ]
