"""Private mount, process and network namespaces of one cluster, and what is started in them.

Rules:
- Killing PID 1 of the sandbox ends everything in it; the kernel drops its mounts and its network.
- PID 1 dies with the thread that started it (PR_SET_PDEATHSIG), so a killed test run leaves only
  cgroups and its directory behind; the next cluster sweeps those away.
- There is no route out of the sandbox: nothing in it can reach another machine.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NODE_ADDRESS = "10.244.0.1"
"""Address of the bridge: the node's, the pods' gateway, and their DNS server."""
SERVICE_ADDRESS = "10.96.0.1"
"""ClusterIP of `kubernetes.default`; the API server listens there itself, so no kube-proxy."""
OPERATOR_ADDRESS = "10.96.0.2"
"""ClusterIP of the Service through which the API server calls an operator's webhooks."""
BRIDGE = "dlf0"

_CGROUPS = Path("/sys/fs/cgroup")
_CLONE_NEWNET = 0x40000000

# What containerd, runc, CNI and the kubelet write outside the cluster's directory goes to mounts
# that die with the sandbox; what the kubelet would change of the machine's kernel it changes in
# copies, so that the machine stays as it is. PID 1 ignores SIGCHLD: the kernel then reaps the
# orphans that it inherits.
_INIT = f"""
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /var/lib
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
    kernel/keys/root_maxkeys kernel/keys/root_maxbytes
do
    cp "/proc/sys/$setting" "$1/sysctl"
    mount --bind "$1/sysctl" "/proc/sys/$setting"
    rm "$1/sysctl"
done
ip link set lo up
ip address add {SERVICE_ADDRESS}/32 dev lo
ip address add {OPERATOR_ADDRESS}/32 dev lo
ip link add {BRIDGE} type bridge
ip address add {NODE_ADDRESS}/24 dev {BRIDGE}
ip link set {BRIDGE} up
trap '' CHLD
touch "$1/ready"
exec sleep infinity
"""


class Sandbox:
    """Namespaces that exist from ``start`` to ``stop``; ``directory`` is the cluster's own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cgroup = directory.name
        self._init: subprocess.Popen[bytes] | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Make the namespaces and the cgroups."""
        (self.directory / "log").mkdir()
        for controller in _controllers():
            group = controller / self.cgroup
            group.mkdir()
            for limit in ("cpuset.cpus", "cpuset.mems"):  # empty at first, and then of no use
                if (group / limit).exists():
                    (group / limit).write_text((controller / limit).read_text())
        namespaces = ["--mount", "--pid", "--net", "--propagation", "private"]
        unshare = ["unshare", *namespaces, "--fork", "--kill-child", "--mount-proc"]
        init = ["setpriv", "--pdeathsig", "KILL", *unshare, "sh", "-c", _INIT, "sh"]
        self._init = self._popen("init", [*init, str(self.directory)])
        wait_until((self.directory / "ready").exists, "namespaces")

    @property
    def pid(self) -> int:
        """PID 1 of the sandbox, as seen from outside."""
        assert self._init is not None
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children").read_text()
        return int(children.split()[0])

    def run(self, name: str, *command: str | Path, **environment: str) -> None:
        """Start a process that lives as long as the sandbox; its output is ``log/<name>.log``."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net"]
        self._processes[name] = self._popen(name, [*enter, *command], environment)

    def pid_of(self, name: str) -> int:
        """The process that `run` started as `name`, as seen from outside."""
        entering = self._processes[name].pid  # nsenter, whose only child is the program
        children = Path(f"/proc/{entering}/task/{entering}/children").read_text()
        return int(children.split()[0])

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """Stop the process that `run` started as `name` in its place, until the block is left."""
        pids = (self.pid_of(name), self._processes[name].pid)  # nsenter stops with its child
        os.kill(pids[0], signal.SIGSTOP)
        try:
            wait_until(lambda: all(map(_is_stopped, pids)), f"stop of {name}")
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def check(self, *command: str | Path, **environment: str) -> str:
        """Run a command inside to its end and return what it printed.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net"]
        return subprocess.run(
            [*enter, *command],
            env=os.environ | environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
        """Wait for ``condition``; fail at once, with its log, when a process has ended.

        Raises:
            RuntimeError: a process ended.
            TimeoutError: ``seconds`` passed.
        """

        def holds_and_all_run() -> bool:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode}")
            return condition()

        wait_until(holds_and_all_run, what, seconds)

    def last_words(self, lines: int = 15) -> str:
        """Return the end of every log, for the report of a failure."""
        ends = []
        for log in sorted((self.directory / "log").glob("*.log")):
            ends += [f"== {log.stem}", *log.read_text(errors="replace").splitlines()[-lines:]]
        return "\n".join(ends)

    def enter_network(self) -> None:
        """Move the calling thread, for good, into the sandbox's network."""
        namespace = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(namespace)

    def stop(self) -> None:
        """End every process in the sandbox and remove the cgroups."""
        if self._init is not None:
            os.kill(self.pid, signal.SIGKILL)
            for process in (self._init, *self._processes.values()):
                process.wait()
        remove_cgroups(self.cgroup)

    def _popen(
        self, name: str, command: Sequence[str | Path], environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.directory / "log" / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.directory,
                env=os.environ | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, not for the cluster
            )


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Poll ``condition`` 20 times a second.

    Raises:
        TimeoutError: it did not hold within ``seconds``.
    """
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} after {seconds} s")
        pause.wait(0.05)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T")


def remove_cgroups(name: str) -> None:
    """Remove the cgroup ``name`` of every controller, once the kernel has let its processes go."""

    def gone() -> bool:
        for tree in [controller / name for controller in _controllers()]:
            for group, _, _ in os.walk(tree, topdown=False):
                try:
                    Path(group).rmdir()
                except OSError:
                    return False
        return True

    wait_until(gone, f"end of cgroup {name}")


def sweep(prefix: Path) -> None:
    """Remove what killed clusters left: directories ``<prefix><pid>-<n>`` of dead processes."""
    for directory in prefix.parent.glob(f"{prefix.name}*"):
        pid, _, _ = directory.name.removeprefix(prefix.name).partition("-")
        if not Path("/proc", pid).exists():
            remove_cgroups(directory.name)
            shutil.rmtree(directory, ignore_errors=True)


def _controllers() -> list[Path]:
    """Return the roots of the cgroup hierarchies: in version 1 several, in version 2 one."""
    if (_CGROUPS / "cgroup.controllers").exists():
        return [_CGROUPS]
    return [each for each in _CGROUPS.iterdir() if each.is_dir() and not each.is_symlink()]
