"""MPIJob: the launcher's environment, with this machine as the only host.

mpirun starts all ranks here, so the workers, which would only wait for it, are not started.
"""

HOST_FILE = "hostfile"


def environment(host_file: str) -> dict[str, str]:
    """What mpirun reads, of Open MPI 4 (OMPI_*) and 5 (PRTE_*).

    A container's user is root and has the cores it asked for; here both may be otherwise.
    """
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
