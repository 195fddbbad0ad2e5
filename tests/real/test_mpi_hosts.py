"""Open MPI over the workers of a local MPIJob: each is a host, and no sshd takes part."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from local.loopback_only import loopback_only, needs_namespaces

from dlf.errors import ExitCode

from .environments import MPI
from .runs import Run, run

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

# Ranks of one host share memory, in which each adds its rank; then all reduce theirs.
_SEES = """\
from mpi4py import MPI

world = MPI.COMM_WORLD
host = world.Split_type(MPI.COMM_TYPE_SHARED)
window = MPI.Win.Allocate_shared(8 if host.rank == 0 else 0, 8, comm=host)
memory, _ = window.Shared_query(0)
numbers = memoryview(memory).cast("q")
window.Fence()
if host.rank == 0:
    numbers[0] = 0
window.Fence()
window.Accumulate((memoryview(world.rank.to_bytes(8, "little")), MPI.INT64_T), 0)
window.Fence()
print(
    f"rank {world.rank} of {world.size}, {host.rank} of {host.size} on its host;"
    f" shared {numbers[0]}, reduced {world.allreduce(world.rank)}",
    flush=True,
)
"""
BY_DLF = pytest.param("", id="dlf's mpirun")
BY_USER = pytest.param("mpirun ", id="the user's mpirun")


def mpi(folder: Path, command: str, machine: Sequence[str] = ()) -> Run:
    """An MPIJob of three workers with two slots each."""
    flags = ["--num_worker", "3", "--slots_per_worker", "2", "--command", command]
    ran = run(["mpi", "--runtime", "local", *flags], MPI, folder / "report", machine)
    assert ExitCode.SUCCEEDED == ran.code, ran.output + ran.errors
    return ran


def sees(folder: Path, starter: str, machine: Sequence[str] = ()) -> Run:
    """What the ranks of such a job see of each other."""
    script = folder / "sees.py"
    script.write_text(_SEES)
    return mpi(folder, f"{starter}python3 -m mpi4py {script}", machine)


def ranks(ran: Run) -> list[str]:
    """What the ranks print, in their order; mpirun may join two lines."""
    return sorted(re.findall(r"rank \d of .*?, reduced \d+", ran.output))


EACH_WORKER_A_HOST = [
    f"rank {rank} of 6, {rank % 2} of 2 on its host; shared {shared}, reduced 15"
    for rank, shared in enumerate((1, 1, 5, 5, 9, 9))
]


@pytest.mark.parametrize("starter", [BY_DLF, BY_USER])
def test_each_worker_is_a_host(starter: str, tmp_path: Path) -> None:
    """Ranks share memory with those of their worker and with no others, and reach all."""
    assert EACH_WORKER_A_HOST == ranks(sees(tmp_path, starter))


@needs_namespaces()
@pytest.mark.parametrize("starter", [BY_DLF, BY_USER])
def test_each_worker_is_a_host_without_a_network(starter: str, tmp_path: Path) -> None:
    """Where loopback is all that there is, Open MPI has to be told to use it."""
    assert EACH_WORKER_A_HOST == ranks(sees(tmp_path, starter, loopback_only(8)))


@needs_namespaces()
@pytest.mark.parametrize("starter", [BY_DLF, BY_USER])
def test_workers_of_one_address_are_one_host(starter: str, tmp_path: Path) -> None:
    """Where there is only 127.0.0.1, mpirun starts all ranks itself."""
    assert [
        f"rank {rank} of 6, {rank} of 6 on its host; shared 15, reduced 15" for rank in range(6)
    ] == ranks(sees(tmp_path, starter, loopback_only(32)))


def test_mpirun_maps_ranks_to_the_hosts_of_its_file(tmp_path: Path) -> None:
    """The variable that the operators set names the file."""
    ran = mpi(tmp_path, "cat $OMPI_MCA_orte_default_hostfile; mpirun --display-map true")
    listed = re.findall(r"(127\.\d+\.\d+\.\d+) slots=2", ran.output)
    mapped = re.findall(r"Data for node: (\S+)\s+Num slots: 2\s.*Num procs: 2", ran.output)
    assert 3 == len(listed) == len(set(listed))
    assert set(listed) == set(mapped), ran.output
