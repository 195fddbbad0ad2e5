"""MPIJob of training-operator (v1) and of mpi-operator (v2beta1): roles Launcher and Worker.

On this machine mpirun starts all ranks itself, so the local runtime starts no workers, which would
only wait for it.
"""

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

HOST_FILE = "hostfile"
"""Name of the local host file in the directory of the job."""


class MPIJobSpec(KubeflowJobSpec):
    """kubeflow.org MPIJobSpec, v1 (kubectl exec) and v2beta1 (ssh)."""

    slots_per_worker: int
    mpi_replica_specs: dict[str, ReplicaSpec]


def _environment(_replica: Replica, network: LocalNetwork) -> dict[str, str]:
    """What mpirun reads, of Open MPI 4 (OMPI_*) and 5 (PRTE_*).

    A container's user is root and has the cores it asked for; here both may be otherwise.
    """
    host_file = f"{network.directory}/{HOST_FILE}"
    return {
        "OMPI_MCA_orte_default_hostfile": host_file,
        "PRTE_MCA_prte_default_hostfile": host_file,
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def host_file(slots: int) -> str:
    """The host file of one machine that stands for all workers."""
    return f"localhost slots={slots}\n"


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
