"""One container as a process: a session of its own, one pipe for all that it prints."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Self

from dlf.errors import UsageError
from dlf.local.process import PodProcess
from dlf.local.reaper import MARK_VARIABLE, Reaper, kill

_READ_BYTES = 1 << 16  # as much as a pipe holds


class ContainerProcess:
    """A container that runs as a process, with everything it starts; `start` makes one."""

    def __init__(
        self, process: asyncio.subprocess.Process, output: int, mark: str, reaper: Reaper
    ) -> None:
        self._process = process
        self._output = output
        self._mark = mark
        self._reaper = reaper
        self._over = False
        self._wake = asyncio.Event()
        reaper.started(process.pid)

    @classmethod
    async def start(
        cls, process: PodProcess, env: Mapping[str, str], directory: str, reaper: Reaper
    ) -> Self:
        """Start the command.

        Args:
            process: what to start.
            env: its whole environment, with the mark of its pod.
            directory: where; "" for the current one.
            reaper: sees to it that nothing is left of it.

        Raises:
            UsageError: the program or the directory is not there.
        """
        output, theirs = os.pipe()
        try:
            started = await asyncio.create_subprocess_exec(
                *process.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=env,
                cwd=directory or None,
                start_new_session=True,
            )
        except OSError as error:
            os.close(output)
            raise UsageError(f"cannot start `{process.argv[0]}`: {error}") from error
        finally:
            os.close(theirs)
        os.set_blocking(output, False)
        return cls(started, output, env[MARK_VARIABLE], reaper)

    @property
    def pid(self) -> int:
        """Number of its first process."""
        return self._process.pid

    async def wait(self) -> int:
        """Wait for the end; return the exit code, 128 + n after signal n."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def clear(self) -> None:
        """After the end: kill what else runs in it, as when a container's first process ends."""
        await asyncio.to_thread(kill, self._mark, {self._process.pid})
        self._reaper.ended(self._process.pid)
        self._over = True
        self._wake.set()

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the process and its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def output(self) -> AsyncGenerator[bytes, None]:
        """What the container prints, stdout and stderr in the order in which it was written.

        Reads no faster than the caller takes it. Ends when the container has ended and all it
        printed was read, even if a process that escaped still holds the pipe.
        """
        try:
            while True:
                over = self._over
                try:
                    chunk = os.read(self._output, _READ_BYTES)
                except BlockingIOError:
                    if over:
                        return
                    await self._readable()
                    continue
                if not chunk:
                    return
                yield chunk
                await asyncio.sleep(
                    0
                )  # other containers get their turn while one prints without a pause
        finally:
            os.close(self._output)

    async def _readable(self) -> None:
        """Wait for output, its end, or the container's end."""
        if self._over:
            return
        loop = asyncio.get_running_loop()
        self._wake.clear()
        loop.add_reader(self._output, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            loop.remove_reader(self._output)
