"""Which pods the job has and which one this is, by what its operator set in this container. Pure.

Sources, the first that is there: Volcano's env and svc plugins (`VC_<TASK>_HOSTS`), the host file
of an MPIJob, TensorFlow's TF_CONFIG, the rendezvous of a PyTorchJob (`MASTER_ADDR`, whose pods are
called `<job>-master-0` and `<job>-worker-<n>`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

_HOSTS = re.compile(r"VC_(\w+)_HOSTS")
_MPI_HOSTFILE = "OMPI_MCA_orte_default_hostfile"


class Peers(NamedTuple):
    """The pods of a job.

    Attributes:
        hosts: their names or addresses, in the order of ranks.
        own: index of this pod in `hosts`; None when that is not known.
        master: host and port where the ranks meet, or None.
        launcher: whether this pod is the launcher of an MPIJob, which is none of `hosts`.
    """

    hosts: tuple[str, ...] = ()
    own: int | None = None
    master: tuple[str, int] | None = None
    launcher: bool = False

    @property
    def first(self) -> bool:
        """Whether the command of `--remote` runs in this pod: rank 0, or the launcher."""
        return self.own == 0 or self.launcher

    @property
    def others(self) -> tuple[str, ...]:
        """All but this one."""
        return tuple(host for index, host in enumerate(self.hosts) if index != self.own)


def peers(env: Mapping[str, str], hostname: str, read: Callable[[str], str | None]) -> Peers:
    """The job of this container.

    Args:
        env: its environment.
        hostname: its host name, which is the pod's name.
        read: returns the text of a file, or None when it cannot be read.
    """
    mpi = _mpi(env, read)
    hosts, own = _volcano(env) or mpi or _tensorflow(env) or _pytorch(env) or ((), None)
    short = [host.partition(".")[0] for host in hosts]
    if hostname in short:
        own = short.index(hostname)
    own = own if own is not None and own < len(hosts) else None
    return Peers(hosts, own, _master(env), launcher=(hosts, own) == mpi)


def full_name(host: str, hosts: Iterable[str]) -> str:
    """The pod that a launcher means by its first label alone, as mpirun cuts names by default.

    Volcano's ssh plugin writes the same into ~/.ssh/config, for a real ssh.
    """
    meant = {each for each in hosts if each.partition(".")[0] == host}
    return meant.pop() if len(meant) == 1 else host


def _volcano(env: Mapping[str, str]) -> tuple[tuple[str, ...], int | None] | None:
    tasks = {
        match[1]: tuple(value.split(","))
        for name, value in env.items()
        if value and (match := _HOSTS.fullmatch(name))
    }
    if not tasks:
        return None
    leader = env.get("PET_MASTER_ADDR") or env.get("MASTER_ADDR", "")
    order = sorted(tasks, key=lambda task: (leader not in tasks[task], task))
    role = env.get("VC_TASK_ROLE", "").upper().replace("-", "_") or (
        order[0] if len(order) == 1 else ""
    )
    own = None
    if role in tasks and (index := _number(env.get("VC_TASK_INDEX", ""))) is not None:
        own = sum(len(tasks[task]) for task in order[: order.index(role)]) + index
    return tuple(host for task in order for host in tasks[task]), own


def _mpi(
    env: Mapping[str, str], read: Callable[[str], str | None]
) -> tuple[tuple[str, ...], int | None] | None:
    lines = (read(env.get(_MPI_HOSTFILE) or "/etc/mpi/hostfile") or "").splitlines()
    words = [line.split() for line in lines]
    hosts = tuple(line[0].partition(":")[0] for line in words if line and line[0][0] != "#")
    return (hosts, None) if hosts else None


def _tensorflow(env: Mapping[str, str]) -> tuple[tuple[str, ...], int | None] | None:
    if not env.get("TF_CONFIG"):
        return None
    import json

    try:
        config = json.loads(env["TF_CONFIG"])
        cluster, task = config["cluster"], config["task"]
        roles = {role: [str(address) for address in cluster[role]] for role in cluster}
        order = sorted(roles, key=lambda role: (role not in {"chief", "master"}, role == "ps"))
        hosts = tuple(
            address.rpartition(":")[0] or address for role in order for address in roles[role]
        )
        before = order[: order.index(task["type"])]
        return hosts, sum(len(roles[role]) for role in before) + int(task["index"])
    except (ValueError, KeyError, TypeError):
        return None


def _pytorch(env: Mapping[str, str]) -> tuple[tuple[str, ...], int | None] | None:
    master = env.get("PET_MASTER_ADDR") or env.get("MASTER_ADDR", "")
    if not master:
        return None
    own = _number(env.get("PET_NODE_RANK") or env.get("RANK", ""))
    count = _number(env.get("PET_NNODES") or env.get("WORLD_SIZE", "")) or 1
    job = master.removesuffix("-master-0")
    if job == master and count > 1:
        return (master,), own
    return (master, *(f"{job}-worker-{index}" for index in range(count - 1))), own


def _master(env: Mapping[str, str]) -> tuple[str, int] | None:
    host = env.get("MASTER_ADDR") or env.get("PET_MASTER_ADDR", "")
    port = _number(env.get("MASTER_PORT") or env.get("PET_MASTER_PORT", ""))
    return (host, port) if host and port else None


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def hostfile(peers: Peers, slots: int, form: str) -> str:
    """The host file of the job, as launchers read it.

    Args:
        peers: of the job; without any, this machine alone.
        slots: processes on each host.
        form: `slots` writes `HOST slots=N` (deepspeed, mpirun, horovodrun), `hosts` only HOST
            (colossalai).
    """
    hosts = peers.hosts or ("127.0.0.1",)
    ending = f" slots={slots}" if form == "slots" else ""
    return "".join(f"{host}{ending}\n" for host in hosts)
