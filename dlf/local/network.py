"""The job's network on one machine: every pod is 127.0.0.1, with a port of its own for each port.

On Kubernetes each pod has its own address, so all pods may listen on the same port. Here they share
one address: what is told to a process as (pod, port) becomes (127.0.0.1, free port), the same free
port for everybody who is told of that pod's port.
"""

import itertools
import re
import socket
from collections.abc import Callable, Iterator, Mapping

HOST = "127.0.0.1"

# Variables that name a pod, and the variables with the port that goes with it.
_PORTS = {
    "MASTER_ADDR": "MASTER_PORT",
    "PET_MASTER_ADDR": "PET_MASTER_PORT",
    "DMLC_PS_ROOT_URI": "DMLC_PS_ROOT_PORT",
}
_INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
_POD_INTERFACE, _LOOPBACK = "eth0", "lo"

# Linux takes ports of outgoing connections from 32768 on. A port from there could be taken between
# now and its use, and a client could even connect to itself on it.
_LOWEST, _HIGHEST = 10000, 30000


class Network:
    """Addresses of the pods of one job.

    Args:
        job: name of the job; its pods are called `<job>-<role>-<index>`.
        allocate: returns a free port, another one each time.
        directory: of the job; it stands for what operators mount into pods.
    """

    def __init__(self, job: str, allocate: Callable[[], int], directory: str) -> None:
        self.directory = directory
        self._allocate = allocate
        self._ports: dict[tuple[str, int], int] = {}
        name = re.escape(job)
        # As a host: alone, after `//`, or in a list; not as a part of a path.
        self._pod = re.compile(
            rf"(?:(?<![\w./-])|(?<=//))({name}-[a-z0-9-]+?-\d+)"
            rf"(?:\.{name})?(?:\.[a-z0-9-]+\.svc(?:\.[a-z0-9-]+)*)?(?::(\d+))?(?![\w-]|\.\w)"
        )

    def host(self, pod: str) -> str:  # noqa: ARG002 - all pods have the same one
        """The address of a pod."""
        return HOST

    def port(self, pod: str, port: int) -> int:
        """The port of this machine that stands for a pod's port."""
        key = (pod, port)
        if key not in self._ports:
            self._ports[key] = self._allocate()
        return self._ports[key]

    def localize(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables that were written for pods, as they have to be on this machine.

        Names of pods become 127.0.0.1, with the port behind them or in the variable that belongs
        to the name; the pods' network interface `eth0` becomes `lo`.
        """
        local = {name: self._pod.sub(self._address, value) for name, value in env.items()}
        for name, port in _PORTS.items():
            pod = self._pod.fullmatch(env.get(name, ""))
            if pod and env.get(port, "").isdecimal():
                local[port] = str(self.port(pod[1], int(env[port])))
        for name in _INTERFACES:
            if local.get(name) == _POD_INTERFACE:
                local[name] = _LOOPBACK
        return local

    def _address(self, pod: re.Match[str]) -> str:
        return f"{HOST}:{self.port(pod[1], int(pod[2]))}" if pod[2] else HOST


def free_ports(number: int) -> Iterator[int]:
    """Ports that nobody listens on, each one once.

    Args:
        number: any; where to start. Jobs that start at the same time should differ.
    """
    start = _LOWEST + number % (_HIGHEST - _LOWEST)
    return filter(_is_free, itertools.chain(range(start, _HIGHEST), range(_LOWEST, start)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
