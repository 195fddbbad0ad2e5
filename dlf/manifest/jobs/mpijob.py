"""MPIJob of training-operator (v1) and of mpi-operator (v2beta1): roles Launcher and Worker.

A worker has no process of its own that matters: it waits for mpirun, which starts ranks in it by a
remote shell. So the local runtime starts no workers; its remote shell runs a command as a worker.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from dlf.manifest.jobs.kind import JobKind, LocalNetwork, Replica
from dlf.manifest.jobs.kubeflow import (
    INDEX_LABEL,
    JOB_LABEL,
    KubeflowJobSpec,
    ReplicaSpec,
    state,
    training_operator_kind,
)
from dlf.manifest.phase import JobState, Phase

if TYPE_CHECKING:
    from dlf.manifest.observed import JobStatus

HOST_FILE, ONE_HOST_FILE, REMOTE_SHELL = "hostfile", "hostfile-of-one", "rsh"
"""Names of files in the directory of a local job: the host file with each worker's address, one
with this machine as the only host, and the remote shell."""


class MPIJobSpec(KubeflowJobSpec):
    """kubeflow.org MPIJobSpec, v1 (kubectl exec) and v2beta1 (ssh)."""

    slots_per_worker: int
    mpi_replica_specs: dict[str, ReplicaSpec]


def _environment(replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """What mpirun and the ranks read, of Open MPI 4 (OMPI_*) and 5 (PRTE_*).

    Open MPI 5 takes two workers for one host when they have one host name, as here, and its ranks
    then wait for each other without end; so it gets the host file of one. Open MPI 4 counts hosts
    by its daemons, and only its files have to be apart. A container's user is root, and has the
    cores that it asked for; here ranks of several workers share cores.
    """
    directory = network.directory
    if replica.role != "Launcher":
        own = f"{directory}/{replica.pod}"
        return dict.fromkeys(_DIRECTORIES, own)
    offline = {"OMPI_MCA_btl_tcp_if_include": "lo"} if network.is_offline else {}
    return offline | {
        "OMPI_MCA_orte_default_hostfile": f"{directory}/{HOST_FILE}",
        "PRTE_MCA_prte_default_hostfile": f"{directory}/{ONE_HOST_FILE}",
        "OMPI_MCA_plm_rsh_agent": f"sh {directory}/{REMOTE_SHELL}",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


# Where Open MPI 4 keeps what ranks of one host share; it names the files by host name and by the
# number of the rank on its host.
_DIRECTORIES = (
    "OMPI_MCA_orte_tmpdir_base",
    "OMPI_MCA_btl_vader_backing_directory",
    "OMPI_MCA_osc_rdma_backing_directory",
    "OMPI_MCA_osc_sm_backing_directory",
)


def host_files(addresses: Iterable[str], slots: int) -> dict[str, str]:
    """File name and content: each worker's address, as the operators write its name.

    Args:
        addresses: of the workers; one that several share is one host.
        slots: processes on each worker.
    """
    hosts = Counter(addresses)
    each = "".join(f"{host} slots={count * slots}\n" for host, count in hosts.items())
    return {HOST_FILE: each, ONE_HOST_FILE: f"localhost slots={hosts.total() * slots}\n"}


def _state_v2beta1(status: "JobStatus") -> JobState:
    """As in v1, but final only with a completion time.

    mpi-operator marks a job Failed when a worker is evicted, and takes it back when the launcher
    still succeeds.
    """
    found = state(status)
    if status.completion_time or not found.phase.final:
        return found
    return msgspec.structs.replace(found, phase=Phase.FINISHING)


MPIJOB = training_operator_kind(
    "MPIJob", "mpijobs", _environment, deciding_roles=("Launcher",), unranked_roles=("launcher",)
)
MPIJOB_V2BETA1 = JobKind(
    group="kubeflow.org",
    version="v2beta1",
    name="MPIJob",
    plural="mpijobs",
    job_label=JOB_LABEL,
    role_label="training.kubeflow.org/job-role",
    index_label=INDEX_LABEL,
    deciding_roles=("Launcher",),
    unranked_roles=("launcher",),
    ssh_key="ssh-privatekey",
    state=_state_v2beta1,
    environment=_environment,
)
