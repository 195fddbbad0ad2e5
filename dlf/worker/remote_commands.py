"""The `ssh` and `pdsh` that `dlf worker --remote` puts on the PATH of its command."""

import os
from collections.abc import Callable, Mapping, Sequence

from dlf.errors import UsageError
from dlf.worker import remote_protocol as protocol
from dlf.worker.command_lines import PdshCall, parse_pdsh, parse_ssh
from dlf.worker.loop import Loop
from dlf.worker.peers import full_name, peers
from dlf.worker.prefixed_lines import PrefixedLines
from dlf.worker.remote_client import SSH_FAILED, RemoteCommand, Signals, lost
from dlf.worker.remote_connect import Unreachable, connect
from dlf.worker.supervise import write

PORT_VARIABLE, TOKEN_FILE_VARIABLE = "DLF_REMOTE_PORT", "DLF_TOKEN_FILE"
"""Environment variables by which the worker passes its settings to `ssh` and `pdsh`."""

_TARGETS = {protocol.STDOUT: 1, protocol.STDERR: 2}


def read_key(path: str) -> bytes:
    """The key of the job.

    Raises:
        UsageError: the file cannot be read, or its content is too short for a secret.
    """
    try:
        with open(path, "rb") as file:
            return protocol.derive_key(file.read(1 << 16))
    except OSError as error:
        raise UsageError(
            f"--token_file={path!r} cannot be read: {error.strerror}",
            f"name a file of a Secret that every pod mounts, and that user {os.getuid()} can read",
        ) from None
    except ValueError as error:
        raise UsageError(
            f"--token_file={path!r} {error}", "name a file with a longer secret"
        ) from None


def _settings(env: Mapping[str, str]) -> tuple[int, bytes]:
    port, path = env.get(PORT_VARIABLE, ""), env.get(TOKEN_FILE_VARIABLE, "")
    if not port.isdecimal() or not path:
        raise UsageError(
            "ssh and pdsh of dlf work only in the command of `dlf worker --remote`:"
            f" {PORT_VARIABLE} or {TOKEN_FILE_VARIABLE} is not set",
            "start them there, with the environment of that command (not by sudo or env -i)",
        )
    return int(port), read_key(path)


def ssh(argv: Sequence[str], env: Mapping[str, str], notify: Callable[[str], None]) -> int:
    """Run a command in another pod; its exit code, or 255.

    Raises:
        UsageError: the command line is wrong, or needs what this does not have.
    """
    call = parse_ssh(argv)
    port, key = _settings(env)
    command = _encoded(call.command)
    codes: list[int] = []
    starter = os.getppid()
    try:
        connection = connect(_pod(call.host, env), port, key)
    except Unreachable as error:
        notify(f"ssh: {error}")
        return SSH_FAILED
    loop = Loop()
    signals = Signals(loop)

    def ended(code: int) -> None:
        codes.append(code)
        loop.stop()

    remote = RemoteCommand(
        loop, connection, command, lambda kind, data: write(_TARGETS[kind], data), ended
    )
    signals.commands.add(remote)
    if call.stdin:
        remote.send_stdin(0)
    else:
        remote.end_stdin()
    loop.run()
    # mpirun does not wait for its ssh: when it has ended, so does the job, in all its pods.
    if remote.is_lost and os.getppid() == starter:
        notify(f"ssh: {lost(call.host)}")
    return codes[0]


def pdsh(argv: Sequence[str], env: Mapping[str, str], notify: Callable[[str], None]) -> int:
    """Run a command in several pods; 0, or with -S the largest exit code.

    Raises:
        UsageError: the command line is wrong, or needs what this does not have.
    """
    call = parse_pdsh(argv)
    port, key = _settings(env)
    return _Fanout(call, port, key, env, notify).run()


def _pod(host: str, env: Mapping[str, str]) -> str:
    """The address of the pod that a launcher calls by this host name."""
    return full_name(host, peers(env, "", lambda _: None).hosts)


def _encoded(command: str) -> bytes:
    line = os.fsencode(command)
    if len(line) > protocol.MAX_COMMAND_BYTES:
        raise UsageError(
            f"the command line has {len(line)} bytes, and Linux takes 128 KiB",
            "write it to a file that all pods see, and run that",
        )
    return line


class _Fanout:
    """One call of pdsh: at most `call.fanout` commands at a time."""

    def __init__(
        self,
        call: PdshCall,
        port: int,
        key: bytes,
        env: Mapping[str, str],
        notify: Callable[[str], None],
    ) -> None:
        self._call = call
        self._port = port
        self._key = key
        self._env = env
        self._user = env.get("USER", "root")
        self._notify = notify
        self._loop = Loop()
        self._signals = Signals(self._loop)
        self._codes: dict[int, int] = {}
        self._next = 0

    def run(self) -> int:
        for _ in range(min(self._call.fanout, len(self._call.hosts))):
            self._start()
        while len(self._codes) < len(self._call.hosts):
            self._loop.run_once(None)
        return max(self._codes.values()) if self._call.largest_code else 0

    def _start(self) -> None:
        """Start the next command, if there is any."""
        if self._next >= len(self._call.hosts):
            return
        index = self._next
        self._next += 1
        host = self._call.hosts[index]
        try:
            connection = connect(_pod(host, self._env), self._port, self._key)
        except Unreachable as error:
            self._notify(f"pdsh: {error}")
            self._end(index, SSH_FAILED)
            return
        prefix = os.fsencode(f"{host}: ") if self._call.labels else b""
        lines = {kind: PrefixedLines(prefix) for kind in _TARGETS}

        def output(kind: bytes, data: bytes) -> None:
            write(_TARGETS[kind], lines[kind].feed(data))

        def ended(code: int) -> None:
            for kind, target in _TARGETS.items():
                write(target, lines[kind].close())
            self._signals.commands.discard(remote)
            if remote.is_lost:
                self._notify(f"pdsh: {lost(host)}")
            elif code:
                self._notify(f"pdsh: {host}: exit code {code}")
            self._end(index, code)

        command = _encoded(self._call.command_for(index, self._user))
        remote = RemoteCommand(self._loop, connection, command, output, ended)
        self._signals.commands.add(remote)
        remote.end_stdin()

    def _end(self, index: int, code: int) -> None:
        self._codes[index] = code
        self._loop.call_later(0.0, self._start)
