"""dlf as a process: the module in this interpreter, or the built executable (--binary)."""

import os
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path

from owned_process import OwnedProcess
from waiting import PATIENCE


class Dlf:
    """Starts dlf in a directory, with nothing in its environment but what it is given."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self.directory = directory
        self.command = command
        self.env: dict[str, str] = {}
        self._mark = f"dlf-test-{uuid.uuid4()}"

    def start(self, *words: str, **env: str) -> OwnedProcess[bytes]:
        given = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "MARK": self._mark}
        given |= self.env | env
        return OwnedProcess[bytes](
            [*self.command, *words],
            cwd=self.directory,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
        with self.start(*words, **env) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def left_over(self) -> list[str]:
        """Command lines of the processes that dlf left behind, after a wait for them to go."""
        deadline = time.monotonic() + PATIENCE
        while (found := self._with_mark()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return list(found.values())

    def kill_left_over(self) -> None:
        """End them: a test that failed leaves nothing either."""
        for pid in self._with_mark():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _with_mark(self) -> dict[int, str]:
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (process / "environ").read_bytes():
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(process.name)] = command.decode()
        return found
