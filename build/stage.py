"""Cached build stages: one directory each, named by the hash of everything that goes into it.

A stage is made in a scratch directory and its result moved into place whole: a directory that
exists is complete. The output of every command goes to the stage's log, and a command that fails
ends the build with its last lines and the log's path.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAST_LINES = 25
ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "1767225600",  # 2026-01-01; tools write it instead of today
}


class BuildFailed(Exception):
    """The build cannot go on; the text says why and what to do."""


class Commands:
    """The commands that run now, in any thread, so that one failure can end them all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, words: list[str], **options: Any) -> int:
        """Run one command and return its status.

        Raises:
            BuildFailed: `stop` was called before it began.
        """
        with self._lock:
            if self._stopped:
                raise BuildFailed("stopped, as something else failed")
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, **options)
            self._running.add(process)
        status = process.wait()
        with self._lock:
            self._running.remove(process)
        return status

    def stop(self) -> None:
        """End what runs, and let nothing begin."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()


@dataclass(frozen=True)
class Bench:
    """Where a stage is made: `out` becomes its result, `scratch` is thrown away."""

    out: Path
    scratch: Path
    log: Path
    jobs: int
    nice: int
    commands: Commands

    def run(
        self,
        *command: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Run one command in a clean environment plus `env`.

        Raises:
            BuildFailed: it ended with another status than 0.
        """
        words = [str(word) for word in command]
        path = {"PATH": os.environ["PATH"]}
        with self.log.open("a") as log:
            log.write(f"\n$ {shlex.join(words)}\n")
            log.flush()
            status = self.commands.run(
                ["nice", f"-n{self.nice}", *words],
                cwd=cwd or self.scratch,
                env={**ENVIRONMENT, **path, **(env or {})},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        if status != 0:
            tail = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise BuildFailed(
                f"{shlex.join(words)[:200]}\n"
                f"  ended with status {status}; its last lines:\n"
                + "".join(f"  | {line}\n" for line in tail)
                + f"  whole log: {self.log}"
            )


@dataclass(frozen=True)
class Workshop:
    """The cache directory, how many compilers a stage may run at once, and how they give way."""

    cache: Path
    jobs: int
    nice: int = 0
    commands: Commands = field(default_factory=Commands)

    def make(self, name: str, inputs: Iterable[str | Path], work: Callable[[Bench], None]) -> Path:
        """Return the result directory of a stage, made by `work` if the cache lacks it.

        Args:
            name: for people; part of the directory's name.
            inputs: what decides the result: words, and files or directories by content.
            work: fills `Bench.out`.
        """
        key = _key(name, inputs)
        result = self.cache / f"{name}-{key}"
        if result.is_dir():
            return result
        scratch = self.cache / "scratch" / result.name
        shutil.rmtree(scratch, ignore_errors=True)
        out = scratch / "out"
        out.mkdir(parents=True)
        log = self.cache / "logs" / f"{result.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        print(f"{name} ...", flush=True)
        start = time.monotonic()
        work(Bench(out, scratch, log, self.jobs, self.nice, self.commands))
        out.rename(result)
        shutil.rmtree(scratch)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        return result


def _key(name: str, inputs: Iterable[str | Path]) -> str:
    digest = hashlib.sha256(name.encode())
    for item in inputs:
        if isinstance(item, str):
            digest.update(f"\0word {item}".encode())
            continue
        for file in sorted(files(item)):
            digest.update(f"\0file {file.relative_to(item)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def files(path: Path) -> list[Path]:
    """Return the file itself, or the files below a directory, without caches of Python."""
    if path.is_file():
        return [path]
    return [file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
