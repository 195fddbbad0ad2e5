"""`ssh` and `pdsh` of `dlf worker --remote`: what runs when a launcher calls them."""

import os
from collections.abc import Callable, Mapping, Sequence

from dlf.errors import UsageError
from dlf.worker import channel
from dlf.worker.client import FAILED, Remote, Signals, Unreachable, connect
from dlf.worker.lines import PrefixedLines
from dlf.worker.loop import Loop
from dlf.worker.peers import full_name, peers
from dlf.worker.personalities import Pdsh, parse_pdsh, parse_ssh
from dlf.worker.supervise import write

PORT, TOKEN_FILE = "DLF_REMOTE_PORT", "DLF_TOKEN_FILE"
"""Variables by which the worker tells its settings to `ssh` and `pdsh`."""

_TARGETS = {channel.STDOUT: 1, channel.STDERR: 2}


def read_key(path: str) -> bytes:
    """The key of the job.

    Raises:
        UsageError: the file is not there, or is no secret.
    """
    try:
        with open(path, "rb") as file:
            return channel.key(file.read(1 << 16))
    except OSError as error:
        raise UsageError(
            f"--token_file={path!r}: {error.strerror}",
            "name a file of the job's Secret that every pod mounts",
        ) from None
    except ValueError as error:
        raise UsageError(
            f"--token_file={path!r}: {error}", "name a file with a longer secret"
        ) from None


def _settings(env: Mapping[str, str]) -> tuple[int, bytes]:
    port, path = env.get(PORT, ""), env.get(TOKEN_FILE, "")
    if not port.isdecimal() or not path:
        raise UsageError(
            "this `ssh` works only in the command of `dlf worker --remote`",
            f"{PORT} and {TOKEN_FILE} are not set",
        )
    return int(port), read_key(path)


def ssh(argv: Sequence[str], env: Mapping[str, str], say: Callable[[str], None]) -> int:
    """Run a command in another pod; its exit code, or 255.

    Raises:
        UsageError: the command line is not one that this can do.
    """
    call = parse_ssh(argv)
    port, key = _settings(env)
    command = _encoded(call.command)
    codes: list[int] = []
    try:
        connection = connect(_pod(call.host, env), port, key)
    except Unreachable as error:
        say(f"ssh: {error}")
        return FAILED
    loop = Loop()
    signals = Signals(loop)

    def ended(code: int) -> None:
        codes.append(code)
        loop.stop()

    remote = Remote(
        loop, connection, command, lambda kind, data: write(_TARGETS[kind], data), ended
    )
    signals.to.add(remote)
    if call.stdin:
        remote.feed(0)
    else:
        remote.end_stdin()
    loop.run()
    return codes[0]


def pdsh(argv: Sequence[str], env: Mapping[str, str], say: Callable[[str], None]) -> int:
    """Run a command in several pods; 0, or with -S the largest exit code.

    Raises:
        UsageError: the command line is not one that this can do.
    """
    call = parse_pdsh(argv)
    port, key = _settings(env)
    return _Fanout(call, port, key, env, say).run()


def _pod(host: str, env: Mapping[str, str]) -> str:
    return full_name(host, peers(env, "", lambda _: None).hosts)


def _encoded(command: str) -> bytes:
    line = os.fsencode(command)
    if len(line) > channel.COMMAND_LIMIT:
        raise UsageError(f"the command line has {len(line)} bytes, and Linux takes 128 KiB")
    return line


class _Fanout:
    def __init__(
        self,
        call: Pdsh,
        port: int,
        key: bytes,
        env: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self._call = call
        self._port = port
        self._key = key
        self._env = env
        self._user = env.get("USER", "root")
        self._say = say
        self._loop = Loop()
        self._signals = Signals(self._loop)
        self._codes: dict[int, int] = {}
        self._next = 0

    def run(self) -> int:
        for _ in range(min(self._call.fanout, len(self._call.hosts))):
            self._start()
        while len(self._codes) < len(self._call.hosts):
            self._loop.turn(None)
        return max(self._codes.values()) if self._call.worst else 0

    def _start(self) -> None:
        """Start the next one, if there is any."""
        if self._next >= len(self._call.hosts):
            return
        index = self._next
        self._next += 1
        host = self._call.hosts[index]
        try:
            connection = connect(_pod(host, self._env), self._port, self._key)
        except Unreachable as error:
            self._say(f"pdsh: {error}")
            self._end(index, FAILED)
            return
        prefix = os.fsencode(f"{host}: ") if self._call.labels else b""
        lines = {kind: PrefixedLines(prefix) for kind in _TARGETS}

        def output(kind: bytes, data: bytes) -> None:
            write(_TARGETS[kind], lines[kind].feed(data))

        def ended(code: int) -> None:
            for kind, target in _TARGETS.items():
                write(target, lines[kind].close())
            self._signals.to.discard(remote)
            if code:
                self._say(f"pdsh: {host}: exit code {code}")
            self._end(index, code)

        command = _encoded(self._call.line(index, self._user))
        remote = Remote(self._loop, connection, command, output, ended)
        self._signals.to.add(remote)
        remote.end_stdin()

    def _end(self, index: int, code: int) -> None:
        self._codes[index] = code
        self._loop.later(0.0, self._start)
