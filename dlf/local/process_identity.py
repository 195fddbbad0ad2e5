"""Which process is meant: its number alone may be another process's by now."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import msgspec

_START_FIELD = 19  # `starttime` in proc(5), counted from the state, which follows the name


class Place(msgspec.Struct, frozen=True):
    """Where process numbers have a meaning: one boot of one machine, and a PID namespace there.

    Attributes:
        host: name of the machine, or of the container.
        boot: the kernel's boot_id.
        pid_namespace: its inode number.
    """

    host: str
    boot: str
    pid_namespace: int

    def has_processes_of(self, other: "Place") -> bool:
        """Whether process numbers mean the same here; a running machine may change its name."""
        if not self.boot:
            return self == other
        return (self.boot, self.pid_namespace) == (other.boot, other.pid_namespace)


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process of one place, which no later process is taken for.

    Attributes:
        pid: its number.
        ticks: when it was started, in clock ticks since the boot.
    """

    pid: int
    ticks: int

    def is_alive(self) -> bool:
        """Whether it runs here; a zombie does not."""
        return self.ticks > 0 and start_ticks(self.pid) == self.ticks


def this_place() -> Place:
    """The place of this process; what cannot be read is left empty."""
    boot, namespace = "", 0
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    with suppress(OSError):
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    return Place(socket.gethostname(), boot, namespace)


def identify(pid: int) -> ProcessIdentity:
    """The identity of a process that runs now."""
    return ProcessIdentity(pid, start_ticks(pid))


def this_process() -> ProcessIdentity:
    """The identity of this process."""
    return identify(os.getpid())


def start_ticks(pid: int) -> int:
    """When the process with this number was started; 0 if there is none, or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    fields = stat.rpartition(b")")[2].split()  # the name before may hold anything
    return 0 if fields[0] in {b"Z", b"X"} else int(fields[_START_FIELD])
