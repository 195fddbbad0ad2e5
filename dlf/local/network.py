"""The job's network on one machine: names and ports of pods become local addresses and ports.

Each pod has one address, and each of its ports one local number; `dlf.local.addresses` chooses
them.
"""

import re
from collections.abc import Callable, Mapping

# Variables that name a pod, and the variables with the port that goes with it.
_PORTS = {
    "MASTER_ADDR": "MASTER_PORT",
    "PET_MASTER_ADDR": "PET_MASTER_PORT",
    "DMLC_PS_ROOT_URI": "DMLC_PS_ROOT_PORT",
}
_INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
_POD_INTERFACE, _LOOPBACK = "eth0", "lo"


class Network:
    """Addresses of the pods of one job.

    Args:
        job: name of the job; its pods are called `<job>-<role>-<index>`.
        new_host: returns the address of another pod.
        new_port: returns another port, the one it is given if that is free.
        directory: of the job; it stands for what operators mount into pods.
        is_offline: this machine has no network but loopback.
    """

    def __init__(
        self,
        job: str,
        new_host: Callable[[], str],
        new_port: Callable[[int], int],
        directory: str,
        *,
        is_offline: bool = False,
    ) -> None:
        self.directory = directory
        self.is_offline = is_offline
        self._new_host = new_host
        self._new_port = new_port
        self._hosts: dict[str, str] = {}
        self._ports: dict[tuple[str, int], int] = {}
        name = re.escape(job)
        # As a host: alone, after `//`, or in a list; not as a part of a path.
        self._pod = re.compile(
            rf"(?:(?<![\w./-])|(?<=//))({name}-[a-z0-9-]+?-\d+)"
            rf"(?:\.{name})?(?:\.[a-z0-9-]+\.svc(?:\.[a-z0-9-]+)*)?(?::(\d+))?(?![\w-]|\.\w)"
        )

    def host(self, pod: str) -> str:
        """The address of a pod."""
        if pod not in self._hosts:
            self._hosts[pod] = self._new_host()
        return self._hosts[pod]

    def port(self, pod: str, port: int) -> int:
        """The port of this machine that stands for a pod's port."""
        key = (pod, port)
        if key not in self._ports:
            self._ports[key] = self._new_port(port)
        return self._ports[key]

    def localize(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables that were written for pods, as they have to be on this machine.

        Names of pods become their addresses, with the port behind them or in the variable that
        belongs to the name; the pods' network interface `eth0` becomes `lo`.
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
        host = self.host(pod[1])
        return f"{host}:{self.port(pod[1], int(pod[2]))}" if pod[2] else host
