"""Runs `dlf worker`, from its settings to its exit code.

Longer than other files: it is one sequence of steps, each of which may end the worker.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dlf.errors import ExitCode, UsageError
from dlf.worker.children import children
from dlf.worker.loop import Loop
from dlf.worker.peers import hostfile
from dlf.worker.processes import Processes
from dlf.worker.programs import CannotStart
from dlf.worker.scratch import Scratch
from dlf.worker.shell import adapted
from dlf.worker.supervise import FORWARDED, Supervisor
from dlf.worker.worker_settings import WorkerSettings

if TYPE_CHECKING:
    from dlf.worker.remote_server import Server

HOSTFILE_VARIABLE = "DLF_WORKER_HOSTFILE"
"""Environment variable that gives the command the path of its host file."""

_NOTIFY_SECONDS = 5.0  # to tell the other pods that the command has ended


def run(
    settings: WorkerSettings,
    command: Sequence[str],
    env: Mapping[str, str],
    self_command: Sequence[str],
    notify: Callable[[str], None],
) -> int:
    """Run the command; its exit code.

    Args:
        settings: the flags.
        command: the user's command line; empty for a pod that only serves others (`--remote`).
        env: the environment of this process.
        self_command: words that run this dlf.
        notify: prints a line of dlf's own.

    Raises:
        UsageError: something that the flags ask for cannot be done here.
    """
    peers = settings.peers
    if settings.remote and command and peers.own is None and not peers.launcher:
        raise UsageError(
            "--remote cannot tell which pods the job has and which one this is: none of"
            " VC_*_HOSTS, /etc/mpi/hostfile, TF_CONFIG and MASTER_ADDR says so",
            "run it in pods of a Volcano Job (plugins env and svc), PyTorchJob, TFJob or MPIJob",
        )
    worker = _Worker(settings, env, self_command, notify)
    try:
        return worker.run(command)
    finally:
        worker.close()


class _Worker:
    """One run, and what it holds: processes, listening socket, temporary directory."""

    def __init__(
        self,
        settings: WorkerSettings,
        env: Mapping[str, str],
        self_command: Sequence[str],
        notify: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._env = dict(env)
        self._self_command = self_command
        self._notify = notify
        self._scratch = Scratch(env)
        self._loop = Loop()
        self._processes = Processes(self._loop, settings.grace, FORWARDED)
        self._supervisor = Supervisor(self._loop, self._processes, notify)
        self._server: Server | None = None
        self._job_finished = False

    def run(self, command: Sequence[str]) -> int:
        settings = self._settings
        if settings.hostfile:
            self._write_hostfile()
        if settings.stacks:
            self._install_stack_hook()
        if settings.remote:
            self._serve()
            if not settings.peers.first:
                return self._serve_until_finished()
        if settings.wait_peers or settings.remote:
            code = self._wait()
            if code:
                return code
        try:
            self._supervisor.start(
                children(
                    adapted(command, self._env),
                    self._env,
                    processes=settings.processes,
                    process_env=settings.process_env,
                    cpus=cpus(),
                    accelerators=settings.accelerators,
                ),
                self._loop.stop,
            )
        except CannotStart as error:
            self._notify(str(error))
            return self._finish(error.code)
        self._loop.run()
        return self._finish(self._supervisor.code)

    def close(self) -> None:
        """Stop what runs, and remove what was created."""
        if self._server:
            self._server.close()
        while self._processes:
            self._loop.run_once(None)
        self._supervisor.drain()
        self._scratch.remove()

    def _install_stack_hook(self) -> None:
        """Let Python processes tell their stacks; the training does not depend on it."""
        from dlf.worker.stack_hook import install

        try:
            self._env |= install(self._scratch.folder("python"), self._env)
        except OSError as error:
            self._notify(
                f"--stacks: cannot write to {self._scratch.directory()} ({error.strerror}): the"
                " command is started without it, and dlf stacks shows no Python stacks"
            )

    def _write_hostfile(self) -> None:
        settings = self._settings
        path = settings.hostfile
        if path == "auto":
            path = f"{self._scratch.directory()}/hostfile"
        text = hostfile(settings.peers, settings.slots, settings.hostfile_form)
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(
                f"--hostfile={path!r} cannot be written: {error.strerror}",
                "name another file, or auto",
            ) from None
        self._env[HOSTFILE_VARIABLE] = path

    def _serve(self) -> None:
        """Put `ssh` and `pdsh` before all others on the command's PATH, and listen.

        The launcher of an MPIJob does not listen: nothing is run in it but its own command.
        """
        from dlf.worker.remote_commands import PORT_VARIABLE, TOKEN_FILE_VARIABLE, read_key
        from dlf.worker.remote_server import Server

        settings = self._settings
        key = read_key(settings.token_file)
        programs = self._scratch.programs(("ssh", "pdsh"), self._self_command)
        self._env |= {
            "PATH": f"{programs}:{self._env.get('PATH') or os.defpath}",
            PORT_VARIABLE: str(settings.remote_port),
            TOKEN_FILE_VARIABLE: os.path.abspath(settings.token_file),
        }
        hosts, own = settings.peers.hosts, settings.peers.own
        if settings.peers.launcher:
            return
        # Pods of the local runtime have addresses of their own, and share their ports.
        address = hosts[own] if own is not None and hosts[own].startswith("127.") else ""
        self._server = Server(
            self._loop, self._processes, key, self._env, self._notify, self._on_finished
        )
        try:
            self._server.listen(address, settings.remote_port)
        except OSError as error:
            raise UsageError(
                f"--remote_port={settings.remote_port} cannot be listened on: {error.strerror}",
                "give all pods of the job another port; with --host_network, each job its own",
            ) from None

    def _on_finished(self) -> None:
        self._job_finished = True
        self._loop.stop()

    def _serve_until_finished(self) -> int:
        """Serve the first pod until its command has ended, or this pod is stopped."""
        while not self._job_finished and not self._supervisor.stopped:
            self._loop.run_once(None)
        return 0 if self._job_finished else 128 + self._supervisor.stopped

    def _wait(self) -> int:
        """Wait for the peers in a child of this process, which a signal can end at any time."""
        settings = self._settings
        port = settings.remote_port if settings.remote else 0
        master = settings.peers.master
        codes: list[int] = []

        def work() -> int:
            from dlf.worker.wait_peers import PeerAddress, wait_for_peers

            addresses = [PeerAddress(host, port) for host in settings.peers.others]
            if master and not settings.remote and not settings.peers.first:
                addresses.append(PeerAddress(*master))
            return (
                0
                if wait_for_peers(addresses, settings.wait_timeout, self._notify)
                else ExitCode.TIMEOUT
            )

        self._processes.fork(work, codes.append)
        while not codes:
            self._loop.run_once(None)
        stopped = self._supervisor.stopped
        return 128 + stopped if stopped else codes[0]

    def _finish(self, code: int) -> int:
        """Tell the other pods that the command has ended; return its exit code.

        A launcher that failed may be started again, and needs the others then.
        """
        settings = self._settings
        if not settings.remote or (settings.peers.launcher and code):
            return code
        if self._server:
            self._server.close()
        done: list[int] = []

        def work() -> int:
            from dlf.worker.notify_finished import notify_finished
            from dlf.worker.remote_commands import read_key

            key = read_key(settings.token_file)
            notify_finished(
                settings.peers.others,
                settings.remote_port,
                key,
                code,
                _NOTIFY_SECONDS,
                self._notify,
            )
            return 0

        self._processes.fork(work, done.append)
        while not done:
            self._loop.run_once(None)
        return code


def cpus() -> int:
    """The processors that this container may use, by its CPU set and its quota."""
    allowed = len(os.sched_getaffinity(0))
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return max(min(allowed, -(-int(quota) // int(period))), 1)
    except (OSError, ValueError):  # cgroup v1, or no quota
        return allowed
